// Policies that change, and policies from a database, in every framework: by the limiter's key, so
// that overrides of the key apply.

import { fixedWindow, memoryStore, slidingWindow } from '@weir/core'
import { type LivePolicies, limitsFrom, livePolicies } from '@weir/core/live'
import { waitUntil } from '@weir/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, serve } from './client.js'
import { servers } from './servers/table.js'

const calls = (limit: number) => slidingWindow({ name: 'calls', limit, window: '1h' })
const daily = fixedWindow({ name: 'daily', limit: 9, window: '1d' })
const key = (exchange: { header(name: string): string | undefined }) => exchange.header('x-key')

const store = memoryStore()
let limits: LivePolicies<'plan'>
beforeAll(async () => {
  limits = livePolicies(store, { name: 'plans', defaults: { plan: calls(10) } })
  await limits.set('plan', calls(20))
  await limits.override({ prefix: 'org-7:' }, calls(30))
  await waitUntil('both changes hold', async () => limits.status().version === 2, 60_000)
})
afterAll(() => limits.close())

describe.each(servers)('$name', (kind) => {
  test('a live policy and its overrides apply, by the key of the limiter', async () => {
    const { url } = await serve(kind, {
      limiters: [
        { store, name: `live-${servers.indexOf(kind)}`, key, policy: limits.policy('plan') },
      ],
    })
    const limitOf = async (of: string) =>
      (await ask(url, { headers: { 'x-key': of } })).headers['ratelimit-policy']
    expect(await limitOf('ann')).toBe('"calls";q=20;w=3600')
    expect(await limitOf('org-7:ann')).toBe('"calls";q=30;w=3600')
  })

  test('policies from a database apply, by the key of the limiter', async () => {
    const asked: string[] = []
    const { policy } = limitsFrom({
      load: async (of) => {
        asked.push(of)
        return of === 'bob' ? [calls(5), daily] : undefined
      },
      default: calls(3),
    })
    const { url } = await serve(kind, { limiters: [{ key, policy, onMissingKey: 'shared' }] })
    const limitOf = async (of?: string) =>
      (await ask(url, { headers: of === undefined ? {} : { 'x-key': of } })).headers[
        'ratelimit-policy'
      ]
    expect(await limitOf('ann')).toBe('"calls";q=3;w=3600')
    expect(await limitOf('bob')).toBe('"calls";q=5;w=3600, "daily";q=9;w=86400')
    // Without a key, nothing is loaded.
    expect(await limitOf()).toBe('"calls";q=3;w=3600')
    expect(asked).toEqual(['ann', 'bob'])
  })
})
