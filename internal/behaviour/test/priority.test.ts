// Which requests go first, in every framework.

import { fixedWindow } from '@weir/core'
import { describe, expect, test } from 'vitest'
import { ask, serve } from './client.js'
import type { Exchange, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1h' })
const reserve = { normal: 0.2, batch: 0.5 }

/** The class of a request. A real application must not let clients choose it. */
function classOf({ url }: Exchange): string {
  return url.slice(1)
}

describe.each(servers)('$name', (kind) => {
  test('the lowest class is refused first, the highest when everything is used', async () => {
    const limiters: Settings[] = [{ name: 'l', policy, reserve, priority: classOf, key: () => 'k' }]
    const { url } = await serve(kind, { limiters })
    const passed: [string, number][] = []
    for (const each of ['batch', 'normal', 'critical']) {
      let count = 0
      for (let i = 0; i < 7; i += 1) if ((await ask(`${url}/${each}`)).status === 200) count += 1
      passed.push([each, count])
    }
    expect(passed).toEqual([
      ['batch', 5],
      ['normal', 3],
      ['critical', 2],
    ])
    const { status, headers } = await ask(`${url}/batch`)
    expect(status).toBe(429)
    expect(headers.ratelimit).toContain('"p";r=0')
    expect(headers['retry-after']).toBeDefined()
  })

  test('a string is the class of all requests', async () => {
    const limiters: Settings[] = [{ name: 'l', policy, reserve, priority: 'batch' }]
    const { url } = await serve(kind, { limiters })
    const statuses: number[] = []
    for (let i = 0; i < 6; i += 1) statuses.push((await ask(url)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  })
})
