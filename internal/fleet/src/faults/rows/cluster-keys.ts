// In addition to the matrix: keys of any shape on a real Cluster, and slots that move under load.
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisCluster, RedisServer } from '@weir/testkit'
import { type Check, countAtLeast, countAtMost, exactly } from '../checks.js'
import { admissions, mostInAnyWindow } from '../figures.js'
import { type Fault, load, NO_FAULT, type Run, underFault, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import { admitted, degradedAtMost, sane, slowest } from '../verdicts.js'

const LIMIT = 5

/** Texts that empty, move or break a hash tag, a protocol line or a table. */
const HOSTILE = [
  ...[
    '}',
    '{',
    '{}',
    '}a',
    '{x}y',
    '}{',
    'a{b',
    'a}b',
    '{a}{b}',
    ':',
    '*',
    '%',
    '%7B',
    ' ',
    '.',
    '..',
    '#',
  ],
  ...[
    '\0',
    '\n',
    '\r\n$3\r\nfoo\r\n',
    '\u001b[31m',
    '\u{1F600}',
    'e\u0301',
    '\u00e9',
    '\uD800',
    '\uDFFF',
  ],
  ...['__proto__', 'constructor', 'toString', 'x'.repeat(128), 'x'.repeat(129), 'y'.repeat(8_192)],
]
/** Keys that would all have one hash tag if tags were taken from user input. */
const STEERING = [...Array(120).keys()].map((i) => `{same}${i}`)

export const hostileKeys: Row = {
  number: 'hostile keys',
  fault: 'hash tags and other shapes of keys, Cluster',
  must: 'count each key for itself, let none choose its slot',
  alone: true,
  async run(stage, length) {
    const cluster = await stage.cluster({ replicas: 0 })
    const keys = [...HOSTILE, ...STEERING]
    const policy = { make: 'fixedWindow', options: { name: 'hour', limit: LIMIT, window: '1h' } }
    const job = load(0, { to: { cluster: cluster.ports }, keys, policy, ratePerSecond: 600 })
    const course = {
      ...length,
      warmUpMs: ((2 * LIMIT * keys.length) / 600) * 1_000,
      faultMs: 0,
      afterMs: 0,
    }
    const run = await underFault(stage, course, [job], NO_FAULT)
    const counts = keys.map((key) => run.samples.filter((s) => s.key === key && s.allowed).length)
    const sizes = await Promise.all(
      cluster.masters.map(async (m) => Number(await m.command('DBSIZE'))),
    )
    return [
      exactly('least for a key', Math.min(...counts), LIMIT),
      exactly('most for a key', Math.max(...counts), LIMIT),
      exactly(
        'keys',
        sizes.reduce((sum, size) => sum + size, 0),
        keys.length,
      ),
      countAtMost('on one shard', Math.max(...sizes), Math.floor(keys.length * 0.6)),
      degradedAtMost(run, 0),
      ...sane(run),
    ]
  },
}

export const resharding: Row = {
  number: 'moving slots',
  fault: '100 keys over 3 shards: live resharding, then a failover',
  must: 'follow, without errors and without a new budget',
  async run(stage, length) {
    const cluster = await stage.cluster({ nodeTimeoutMs: 1_000 })
    const keys = [...Array(100).keys()].map((i) => `user-${i}`)
    const policy = {
      make: 'fixedWindow',
      options: { name: 'load', limit: LIMIT, window: WINDOW_MS },
    }
    const job = load(0, { to: { cluster: cluster.ports }, keys, policy, ratePerSecond: 500 })
    let moved = 0
    const fault: Fault = {
      async begin() {
        moved = await reshard(cluster)
        await cluster.replicas[1]?.command('CLUSTER', 'FAILOVER')
      },
      end() {},
    }
    const run = await underFault(stage, length, [job], fault)
    return [
      countAtLeast('slots moved', moved, 10),
      ...perKey(run, keys),
      // Moved keys are requested twice; only around the failover may anything be decided locally.
      countAtMost('degraded, %', percentDegraded(run), 10),
      slowest(run, 250),
      ...sane(run),
    ]
  },
}

function perKey(run: Run, keys: readonly string[]): Check[] {
  const runs = keys.map((key) => ({
    ...run,
    samples: run.samples.filter((sample) => sample.key === key),
  }))
  const over = runs.map(({ samples }) => mostInAnyWindow(admissions(samples), WINDOW_MS))
  const tooMany = runs.map((of) => admitted(of, LIMIT)).filter(({ ok }) => !ok)
  return [
    countAtMost('over', Math.max(...over), 2 * LIMIT),
    countAtMost('keys over what is allowed', tooMany.length, 0),
  ]
}

function percentDegraded({ samples }: Run): number {
  return Math.round((100 * samples.filter(({ degraded }) => degraded).length) / samples.length)
}

/**
 * Moves each slot that contains a key from the first master to the second, key by key, while they
 * are in use.
 */
async function reshard({ masters }: RedisCluster): Promise<number> {
  const [from, to] = masters as readonly [RedisServer, RedisServer]
  const ids = await Promise.all([from, to].map((node) => node.command('CLUSTER', 'MYID')))
  const [fromId, toId] = ids.map(String) as [string, string]
  const keys = (await from.command('KEYS', '*')) as readonly string[]
  const slots = new Set(
    await Promise.all(keys.map((key) => from.command('CLUSTER', 'KEYSLOT', key))),
  )
  for (const slot of [...slots].map(Number)) {
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
    await sleep(20)
    for (;;) {
      const held = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 10)) as readonly string[]
      if (held.length === 0) break
      await from.command('MIGRATE', '127.0.0.1', to.port, '', 0, 1_000, 'KEYS', ...held)
    }
    await sleep(20)
    for (const node of [to, from, ...masters.slice(2)])
      await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
  }
  return slots.size
}
