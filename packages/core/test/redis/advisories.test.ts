// Vulnerabilities of other libraries, on real servers.

import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter, slidingLog } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { clusterClient, newName, notedStore, strictStore } from './clients.js'

test('GHSA-76rv-2r9v-c5m6 (zae-limiter): one abusive key kept a partition busy. Here a denied key costs Redis a call a second', async () => {
  const clock = fakeClock()
  const { store, calls } = notedStore({ instances: 1, clock })
  const policy = slidingLog({ limit: 5, window: '1h' })
  const limiter = new RateLimiter({ name: newName(), store, policy })
  await limiter.penalty('abuser', { cost: 10 })
  calls.length = 0
  for (let i = 0; i < 5_000; i += 1) {
    clock.advance(1)
    expect((await limiter.consume('abuser')).allowed).toBe(false)
  }
  expect(calls).toHaveLength(5)
  // It does not delay another client of the same store.
  expect((await limiter.consume('somebody else')).allowed).toBe(true)
})

const IDS = [
  '}',
  '{}',
  '{',
  '}x{',
  'a}b',
  '{a}',
  'a}{b',
  '}}{{',
  'a\nb',
  '\r\n',
  'a\0b',
  '\0',
  '🦊',
  '\ud800',
  'é}',
  ':',
  '{user}:1',
  ' ',
  '*',
  'x'.repeat(8_192),
  `}${'x'.repeat(8_190)}{`,
]

test('hash-tag injection: an identity with braces emptied the tag, so a decision spanned two slots and failed', async () => {
  const cluster = clusterClient()
  const prefix = newName()
  const limiter = new RateLimiter({
    name: 'login',
    store: strictStore(cluster, { prefix, denyCache: false }),
    // Two keys of one identity, in one script.
    policy: [
      fixedWindow({ name: 'short', limit: 2, window: '1m' }),
      fixedWindow({ name: 'long', limit: 9, window: '1h' }),
    ],
  })
  for (const id of IDS) {
    const answers = []
    for (let i = 0; i < 3; i += 1) answers.push(await limiter.consume(id))
    expect(
      answers.map(({ allowed }) => allowed),
      JSON.stringify(id.slice(0, 20)),
    ).toEqual([true, true, false])
    expect(answers[2]?.policies.map(({ remaining }) => remaining)).toEqual([0, 7])
  }
  // Each identity has two keys, both in one slot, and no part of it is unencoded.
  const nodes = cluster.nodes('master')
  const keys = (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*login*`)))).flat()
  expect(keys).toHaveLength(2 * IDS.length)
  const slots = new Map<string, Set<number>>()
  for (const key of keys) {
    expect(key).toMatch(/^[A-Za-z0-9_.:-]+:\{[#%A-Za-z0-9_.~:@/-]+\}:[^{}]+$/)
    const tag = key.slice(key.indexOf('{'), key.indexOf('}'))
    const slot = (await cluster.cluster('KEYSLOT', key)) as number
    slots.set(tag, (slots.get(tag) ?? new Set()).add(slot))
  }
  expect(slots.size).toBe(IDS.length)
  for (const found of slots.values()) expect(found.size).toBe(1)
})
