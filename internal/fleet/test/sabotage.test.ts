// A fault that no longer finds the text that it replaces would stop the weekly run of all faults.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
// @ts-expect-error: a tool, in JavaScript
import { FAULTS } from '../sabotage-faults.mjs'

type Fault = [what: string, file: string, from: string, to: string]

test.each(FAULTS as Fault[])(
  'the text that the fault replaces is there: %s',
  (_, file, from, to) => {
    const path = new URL(`../../../packages/core/src/${file}`, import.meta.url)
    const before = readFileSync(path, 'utf8')
    expect(before.split(from)).toHaveLength(2)
    expect(before.replace(from, to)).not.toBe(before)
  },
)
