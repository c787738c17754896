// The files that users install.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../../', import.meta.url)

export const RULES_FILE: string = fileURLToPath(
  new URL('packages/metrics/alerts/weir.rules.yml', root),
)
export const rules: string = readFileSync(RULES_FILE, 'utf8')
export const runbooks: string = readFileSync(new URL('docs/operating.md', root), 'utf8')

interface Panel {
  readonly type: string
  readonly title: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly expr: string }[]
}

export const board = JSON.parse(
  readFileSync(new URL('packages/metrics/dashboards/weir.json', root), 'utf8'),
) as {
  readonly panels: readonly Panel[]
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: unknown }[]
  }
}

/** The names of all alerts. */
export const alerts: readonly string[] = [...rules.matchAll(/- alert: (\w+)/g)].map(
  ([, name]) => name as string,
)
