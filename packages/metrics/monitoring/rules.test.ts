// The alerts that take long to fire, on a simulated clock of promtool; and static checks of the
// files.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promtool } from '@weir/testkit'
import { describe, expect, test } from 'vitest'
import { alerts, board, RULES_FILE, rules, runbooks } from './files.js'

const CASES = ['./rules.yml', './days.yml'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
)

test('promtool finds nothing wrong with the rules', () => {
  const { status, output } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', RULES_FILE])
  expect(output).toContain(`${alerts.length} rules found`)
  expect(status).toBe(0)
})

test('each alert fires when it should, and not otherwise', () => {
  const { status, output } = promtool(['test', 'rules', ...CASES])
  expect(output).toContain('SUCCESS')
  expect(status).toBe(0)
})

test('each alert has a case in which it fires', () => {
  const cases = CASES.map((file) => readFileSync(file, 'utf8')).join('')
  const fired = [...cases.matchAll(/alertname: (\w+)\n\s+exp_alerts:\n/g)].map(([, name]) => name)
  expect([...new Set(fired)].sort()).toEqual([...alerts].sort())
})

describe.each(alerts)('%s', (name) => {
  test('names its section of docs/operating.md, which exists', () => {
    const [, runbook] =
      new RegExp(`alert: ${name}\\n[\\s\\S]*?runbook_url: (\\S+)`).exec(rules) ?? []
    expect(runbook).toBe(`docs/operating.md#${name.toLowerCase()}`)
    expect(runbooks).toMatch(new RegExp(`^#+ ${name}$`, 'm'))
  })
})

test('panels of the board do not overlap, and each has a query', () => {
  const { panels } = board
  const cells = new Set<string>()
  for (const { gridPos, type, targets, title } of panels) {
    expect([title, (targets?.length ?? 0) > 0]).toEqual([title, type !== 'row'])
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(cells.has(`${x} ${y}`)).toBe(false)
        cells.add(`${x} ${y}`)
      }
    }
  }
  const ids = (panels as unknown as { id: number }[]).map(({ id }) => id)
  expect(new Set(ids).size).toBe(panels.length)
})
