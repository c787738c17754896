// Measured and simulated results, as files of the repository, and the pages that show them.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../places/places.js'
import type { Inputs } from './inputs.js'
import type { Plan } from './plan.js'
import type { Validated } from './validate.js'

export interface Results {
  inputs: Inputs
  validated: readonly Validated[]
  plan: Plan
}

const fileOf = (name: keyof Results): string => join(root, `internal/fleet/planning/${name}.json`)

export function readResult<Name extends keyof Results>(name: Name): Results[Name] {
  return JSON.parse(readFileSync(fileOf(name), 'utf8'))
}

export function writeResult<Name extends keyof Results>(name: Name, result: Results[Name]): void {
  writeFileSync(fileOf(name), `${JSON.stringify(result, shortened, 2)}\n`)
}

export function readDocument(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

export function writeDocument(path: string, text: string): void {
  writeFileSync(join(root, path), text)
}

/** Four significant digits, which is more than any figure here deserves. */
function shortened(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
