import { resolve } from 'node:path'

/** The root of the repository. */
export const root: string = resolve(import.meta.dirname, '../../..')
