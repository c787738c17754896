import { otherServer, type RedisCluster, type RedisServer, waitUntil } from '@weir/testkit'
import { countAtLeast, countAtMost, exactly, msAtMost } from '../checks.js'
import { admissions, longestDenial, mostInAnyWindow } from '../figures.js'
import {
  type Fault,
  LIMIT,
  load,
  ofKey,
  RATE,
  type Run,
  repeated,
  underFault,
  WINDOW_MS,
} from '../outage.js'
import type { Row } from '../row.js'
import { degradedAtMost, normalWithin, over, sane, slowest } from '../verdicts.js'

const LATE_MS = 250
const SLOTS = 16_384
const USERS = [...Array(12).keys()].map((i) => `user-${i}`)
/** For the client: the time to hear of the new primary, and to connect. */
const NORMAL_MS = 2_500

const failover = {
  number: '21',
  must: 'no lock-out, loss <= rate x lag',
}

function checksOf(run: Run): ReturnType<typeof sane> {
  return [
    msAtMost('longest denial', longestDenial(run.samples), WINDOW_MS + LATE_MS),
    over(run, 2 * LIMIT),
    slowest(run, 150),
    normalWithin(run, NORMAL_MS),
    ...sane(run),
  ]
}

const sentinelFailover: Row = {
  ...failover,
  variant: 'Sentinel',
  fault: 'failover: primary killed under load, Sentinel',
  notWith: { glide: 'as GLIDE has no Sentinels' },
  async run(stage, length) {
    const sentinel = await stage.sentinel()
    const [primary] = sentinel.servers
    const to = { sentinels: sentinel.sentinelPorts, name: sentinel.name }
    const fault: Fault = {
      begin: () => primary?.kill(),
      end: () =>
        waitUntil('the failover', async () => (await sentinel.masterPort()) !== primary?.port),
    }
    return checksOf(await underFault(stage, length, [load(0, { to })], fault))
  },
}

const clusterFailover: Row = {
  ...failover,
  variant: 'Cluster',
  fault: 'failover: primary killed under load, Cluster',
  async run(stage, length) {
    const cluster = await stage.cluster({ nodeTimeoutMs: 1_000 })
    const job = load(0, {
      to: { cluster: cluster.ports },
      keys: USERS,
      ratePerSecond: (USERS.length * RATE) / 2,
    })
    const [victim] = cluster.masters
    const fault: Fault = {
      begin: () => victim?.kill(),
      end: () => waitUntil('the failover', () => allServed(cluster)),
    }
    const run = await underFault(stage, length, [job], fault)
    const perUser = USERS.map((user) => ofKey(run, user))
    return [
      msAtMost(
        'longest denial',
        Math.max(...perUser.map((u) => longestDenial(u.samples))),
        WINDOW_MS + LATE_MS,
      ),
      mostOver(perUser, 2 * LIMIT),
      slowest(run, 150),
      normalWithin(run, NORMAL_MS),
      ...sane(run),
    ]
  },
}

/** Whether a replica has taken the dead node's place, according to the other nodes. */
async function allServed({ masters }: RedisCluster): Promise<boolean> {
  const infos = await Promise.all(
    masters.slice(1).map((master) => master.command('CLUSTER', 'NODES')),
  )
  return infos.every((info) => {
    const lines = String(info).split('\n')
    return (
      lines.filter((line) => /master/.test(line) && !/fail/.test(line) && /\d+-\d+/.test(line))
        .length >= 3
    )
  })
}

function mostOver(runs: readonly Run[], bound: number): ReturnType<typeof countAtMost> {
  const most = runs.map(({ samples }) => mostInAnyWindow(admissions(samples), WINDOW_MS))
  return countAtMost('over', Math.max(...most), bound)
}

function shardRow(variant: string, signal: NodeJS.Signals): Row {
  return {
    number: '22',
    variant,
    fault: `one Cluster shard ${variant}`,
    alone: true,
    must: 'only its keys degrade',
    async run(stage, length) {
      const args = ['--cluster-require-full-coverage', 'no']
      const cluster = await stage.cluster({ replicas: 0, args })
      const [victim] = cluster.masters as readonly [RedisServer]
      const slots = await Promise.all(
        USERS.map((user) => victim.command('CLUSTER', 'KEYSLOT', `{${user}}`)),
      )
      // The first master serves the first third of the slots.
      const spared = USERS.filter((_, i) => Number(slots[i]) >= Math.floor(SLOTS / 3))
      const fault: Fault = {
        begin: () => victim.kill(signal),
        end: () => (signal === 'SIGSTOP' ? victim.kill('SIGCONT') : undefined),
      }
      const policy = {
        make: 'fixedWindow',
        options: { name: 'load', limit: 10, window: WINDOW_MS },
      }
      const job = load(0, { to: { cluster: cluster.ports }, keys: USERS, policy })
      const run = await underFault(stage, length, [job], fault)
      const samples = run.samples.filter(
        ({ at, key }) => at >= run.fault.from && spared.includes(key),
      )
      const perUser = USERS.map((user) => ofKey(run, user))
      return [
        countAtLeast('other keys', spared.length, 2),
        countAtLeast('keys of the shard', USERS.length - spared.length, 1),
        degradedAtMost({ ...run, samples }, 0, 'local decisions on other keys'),
        mostOver(perUser, 20),
        slowest(run, 150),
        ...sane(run),
      ]
    },
  }
}

const migrating: Row = {
  number: '21b',
  fault: 'slots of a Cluster migrate there and back, atomically (Valkey 9), under load',
  must: 'exact; Redis decides',
  fullOnly: true,
  async run(stage, length) {
    // Otherwise a master that loses its last slot becomes a replica.
    const args = ['--cluster-allow-replica-migration', 'no']
    const cluster = await stage.cluster({
      replicas: 0,
      args,
      binary: otherServer('valkey', 'newest'),
    })
    // As many as ask for it from before the fault until after its end.
    const limit = Math.round(
      (RATE * (length.warmUpMs + length.faultMs + 500)) / 1_000 / USERS.length,
    )
    const policy = { make: 'fixedWindow', options: { name: 'load', limit, window: '1h' } }
    const job = load(0, { to: { cluster: cluster.ports }, keys: USERS, policy })
    const [first, second] = cluster.masters as readonly [RedisServer, RedisServer]
    let moves = 0
    const fault = repeated(100, async () => {
      const [from, to] = moves % 2 === 0 ? [first, second] : [second, first]
      await moveTheFirstThird(from, to)
      moves += 1
    })
    const run = await underFault(stage, length, [job], fault)
    const admitted = USERS.map((user) => admissions(ofKey(run, user).samples).length)
    return [
      countAtLeast('moves', moves, 2),
      exactly('least of a key', Math.min(...admitted), limit),
      exactly('most of a key', Math.max(...admitted), limit),
      degradedAtMost(run, 0),
      slowest(run, 150),
      ...sane(run),
    ]
  },
}

async function moveTheFirstThird(from: RedisServer, to: RedisServer): Promise<void> {
  const id = String(await to.command('CLUSTER', 'MYID'))
  const slots = ['SLOTSRANGE', 0, Math.floor(SLOTS / 3) - 1, 'NODE', id]
  await from.command('CLUSTER', 'MIGRATESLOTS', ...slots)
  let last: readonly string[] = []
  const state = (): string | undefined => last[last.indexOf('state') + 1]
  await waitUntil('the end of the migration', async () => {
    ;[last = []] = (await from.command('CLUSTER', 'GETSLOTMIGRATIONS')) as string[][]
    return ['success', 'failed'].includes(String(state()))
  })
  if (state() === 'failed') throw new Error(`the migration failed: ${last.join(' ')}`)
}

export const topology: readonly Row[] = [
  sentinelFailover,
  clusterFailover,
  migrating,
  shardRow('gone', 'SIGKILL'),
  shardRow('hung', 'SIGSTOP'),
]
