// What each kernel costs in Redis, and the worst that an attacker gets from each policy: measured here and now, on a
// redis-server of its own, and printed as tables. Needs a build. Read times as ratios: they are taken interleaved.
//
//   node tools/figures.mjs [--write]     --write: puts the tables into docs/algorithms.md
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../internal/testkit/dist/esm/index.js'
import * as weir from '../packages/core/dist/esm/index.js'
import { keyFormat } from '../packages/core/dist/esm/redis/transport/keys.js'
import { decideGroups, lineFor } from '../packages/core/dist/esm/redis/transport/script-call.js'
import { makePolicySet } from '../packages/core/dist/esm/store.js'
import { loadTs } from './load-ts.mjs'

const { Redis } = createRequire(new URL('../packages/core/package.json', import.meta.url))(
  'ioredis',
)
const { fixedWindow, slidingCounter, slidingLog, slidingWindow, tokenBucket } = weir

const attack = new URL('../packages/core/test/redis/attack/targets.ts', import.meta.url)
const { measure } = await loadTs(fileURLToPath(attack))
const ROUNDS = 7
const POLICIES = {
  'token bucket': (limit) => tokenBucket({ capacity: limit, refill: limit, every: '10m' }),
  'fixed window': (limit) => fixedWindow({ limit, window: '10m' }),
  'sliding counter': (limit) => slidingCounter({ limit, window: '10m' }),
  'sliding window, 60 parts': (limit) => slidingWindow({ limit, window: '10m' }),
  'exact log': (limit) => slidingLog({ limit: Math.min(limit, 100_000), window: '10m' }),
}
const MINIMAL = `local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`

const server = await startRedis()
const client = new Redis(server.port)
try {
  const version = /(?:redis|valkey)_version:(\S+)/.exec(await client.info('server'))?.[1]
  const head = `Server ${version}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}.`
  const tables = [head, await costs(), await logFigures(), attacks()].join('\n\n')
  console.log(tables)
  if (process.argv.includes('--write')) write(tables)
} finally {
  client.disconnect()
  await server.stop()
}

function write(tables) {
  const file = fileURLToPath(new URL('../docs/algorithms.md', import.meta.url))
  const [before, rest] = readFileSync(file, 'utf8').split('<!-- figures:start -->')
  const after = rest.split('<!-- figures:end -->')[1]
  writeFileSync(file, `${before}<!-- figures:start -->\n${tables}\n<!-- figures:end -->${after}`)
}

function median(numbers) {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

/** Microseconds that the server spent in each EVALSHA meanwhile. */
async function scriptTime(calls) {
  await client.config('RESETSTAT')
  await calls()
  const [, count, us] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(
    await client.info('commandstats'),
  )
  return us / count
}

function groupsOf(policySet, count, name) {
  return Array.from({ length: count }, (_, i) => ({
    group: { policySet, key: `${name}${i}`, costs: [1] },
    count: 1,
  }))
}

async function costs() {
  const sha = await client.script('LOAD', MINIMAL)
  const lines = Object.entries(POLICIES).map(([name, make]) => {
    const policySet = makePolicySet('figures', [make(100_000)])
    return { name, policySet, line: lineFor(keyFormat('weir'), policySet), single: [], batch: [] }
  })
  const minimal = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await client.flushall()
    minimal.push(
      await scriptTime(async () => {
        for (let i = 0; i < 2_000; i += 1) await client.evalsha(sha, 1, `minimal${i % 64}`, 600_000)
      }),
    )
    for (const { policySet, line, single, batch } of lines) {
      const ask = (groups) => decideGroups(client, line, 'consume', groups, undefined)
      await ask(groupsOf(policySet, 64, 'u'))
      single.push(
        await scriptTime(async () => {
          for (let i = 0; i < 1_000; i += 1) await ask(groupsOf(policySet, 1, 'u'))
        }),
      )
      batch.push(
        (await scriptTime(async () => {
          for (let i = 0; i < 100; i += 1) await ask(groupsOf(policySet, 64, 'u'))
        })) / 64,
      )
    }
  }
  const unit = median(minimal)
  await client.flushall()
  const rows = []
  for (const { name, policySet, line, single, batch } of lines) {
    await decideGroups(
      client,
      line,
      'consume',
      groupsOf(policySet, 1, 'user-00000000000001'),
      undefined,
    )
    const [key] = await client.keys(`weir:*${policySet.policies[0].kernel.id}`)
    const bytes = await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')
    const times = [median(single), median(batch)]
    rows.push(
      `| ${name} | ${times.map((us) => `${us.toFixed(2)} (${(us / unit).toFixed(1)})`).join(' | ')} | ${bytes} |`,
    )
    await client.flushall()
  }
  await client.set(
    'weir:{user-00000000000001}:figures:max-100000-per-10m:counter1',
    '1',
    'PX',
    600_000,
  )
  const plain = await client.call(
    'MEMORY',
    'USAGE',
    'weir:{user-00000000000001}:figures:max-100000-per-10m:counter1',
    'SAMPLES',
    '0',
  )
  return `Server time of a decision in microseconds, and as a multiple of a minimal script (INCR, and PEXPIRE on the first; ${unit.toFixed(2)} us); bytes of a key after one decision (a plain counter under such a key: ${plain}).

| kernel | alone | in a call of 64 | bytes |
|---|---|---|---|
${rows.join('\n')}`
}

async function logFigures() {
  const rows = []
  for (const limit of [10, 1_000, 10_000, 100_000]) {
    const policySet = makePolicySet('log', [slidingLog({ limit, window: '10m' })])
    const line = lineFor(keyFormat('weir'), policySet)
    let nowUs = Date.now() * 1_000
    for (let taken = 0; taken < limit; taken += 1_000) {
      await Promise.all(
        Array.from({ length: Math.min(limit, 1_000) }, () => {
          nowUs += 1_000
          return decideGroups(
            client,
            line,
            'consume',
            groupsOf(policySet, 1, `full${limit}`),
            nowUs,
          )
        }),
      )
    }
    const [key] = await client.keys(`weir:{full${limit}0}*`)
    const bytes = await client.call('MEMORY', 'USAGE', key, 'SAMPLES', '0')
    nowUs += 600_000_000 - limit * 1_000
    const us = await scriptTime(async () => {
      for (let i = 0; i < 500; i += 1) {
        nowUs += 1_000
        await decideGroups(client, line, 'consume', groupsOf(policySet, 1, `full${limit}`), nowUs)
      }
    })
    rows.push(`| ${limit} | ${bytes} | ${(bytes / limit).toFixed(1)} | ${us.toFixed(2)} |`)
  }
  return `The exact log when it is full of distinct times: bytes, and microseconds of a call that finds one unit dead and takes one.

| limit | bytes | a request | us |
|---|---|---|---|
${rows.join('\n')}`
}

/** See packages/core/test/redis/attack: the adversary test holds these figures to their bounds. */
function attacks() {
  const rows = measure(1, 40_000).map(({ call, policy, bound, because, edge, searched }) => {
    const [most, byPlan, bySearch] = [bound, edge, searched].map((units) =>
      (units / policy.limit).toFixed(2),
    )
    return `| ${call} | ${most} (${because}) | ${byPlan} | ${bySearch} |`
  })
  return `The most that attackers got in any minute, as a multiple of a limit of 100 a minute: by policySet (all at the last moment of a window and all at the first of the next, and the like), and by a search through 40,000 attacks.

| policy | bound | by policySet | by search |
|---|---|---|---|
${rows.join('\n')}`
}
