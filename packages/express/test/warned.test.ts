// Vulnerabilities of other libraries that take several processes, or one of their own, to show.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type RedisServer, startRedis } from '@weir/testkit'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

describe('GHSA-984p-xq9m-4rjw (express-brute), nostream #467: parallel requests passed a limit that was read and then written', () => {
  let server: RedisServer
  let children: ChildProcess[] = []
  let ports: number[] = []
  beforeAll(async () => {
    server = await startRedis()
    const script = join(import.meta.dirname, 'fixtures/site.mjs')
    children = Array.from({ length: 4 }, () => fork(script, [server.url]))
    ports = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))
  })
  afterAll(async () => {
    for (const child of children) child.kill()
    await server?.stop()
  })

  describe.each([
    ['on the clock of Redis', 'server'],
    ['at one and the same instant, which made entries collide', 'instant'],
  ])('150 requests to 4 processes, %s: exactly 50 pass', (_, place) => {
    test.each([
      'fixed-window',
      'sliding-window',
      'sliding-log',
      'sliding-counter',
      'token-bucket',
      'gcra',
      'leaky-bucket',
    ])('%s', async (policy) => {
      const agent = new Agent({ connections: 50 })
      onTestFinished(() => agent.close())
      const asked = Array.from({ length: 150 }, async (__, i) => {
        const url = `http://127.0.0.1:${ports[i % 4]}/${place}/${policy}`
        const { statusCode, body } = await request(url, { dispatcher: agent })
        await body.dump()
        return statusCode
      })
      const statuses = await Promise.all(asked)
      const count = (status: number) => statuses.filter((one) => one === status).length
      expect([count(200), count(429)]).toEqual([50, 100])
    })
  })
})

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
