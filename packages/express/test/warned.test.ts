// Warnings that a process gives once.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

describe('OpenWA PR #1336: setups that count all clients as one, or let each be many, cause one warning', () => {
  test.each([
    ['plain', []],
    ['forwarded', ['WEIR_FORWARDED_IGNORED']],
    ['trust-all', ['WEIR_TRUST_ALL']],
    ['cluster', ['WEIR_FORWARDED_IGNORED', 'WEIR_MEMORY_IN_CLUSTER']],
  ])('%s', async (setup, codes) => {
    expect(await codesWarnedOf(setup)).toEqual(codes)
  })

  test('which can be silenced by its code', async () => {
    expect(await codesWarnedOf('forwarded', '--disable-warning=WEIR_FORWARDED_IGNORED')).toEqual([])
  })

  async function codesWarnedOf(setup: string, ...flags: string[]): Promise<string[]> {
    const script = join(import.meta.dirname, 'fixtures/warned.mjs')
    const child = spawn(process.execPath, [...flags, script, setup], {
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    const [code] = await once(child, 'close')
    expect(code, output).toBe(0)
    return [...output.matchAll(/\[(WEIR_\w+)\] WeirWarning/g)]
      .map(([, name]) => name as string)
      .sort()
  }
})
