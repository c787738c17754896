// The pictures of docs/scaling.md, drawn from the results.

import { chart, type Series } from './chart.js'
import { CLUSTERED_AT_ONCE, isFull, type Plan, type Planned, TAGS } from './plan.js'

export function picturesOf(plan: Plan): readonly (readonly [name: string, svg: string])[] {
  return [
    ['docs/images/scaling-one-redis.svg', oneRedis(plan)],
    ['docs/images/scaling-latency.svg', latency(plan)],
    ['docs/images/scaling-cluster.svg', cluster(plan)],
  ]
}

function oneRedis({ oneServer }: Plan): string {
  const series = (title: string, processes: number, atOnce: number): Series => ({
    title,
    points: oneServer
      .filter((one) => one.processes === processes && one.atOnce === atOnce && one.process < 0.95)
      .map(({ perSecond, busiest }) => [perSecond, Math.min(1, busiest) * 100]),
  })
  return chart({
    title: 'What a single Redis needs of its core',
    x: { title: 'decisions a second', ticks: [10_000, 100_000, 1_000_000], isLog: true },
    y: { title: '', ticks: [0, 25, 50, 75, 100], unit: ' %' },
    series: [
      series('1 process', 1, 1),
      series('100 processes', 100, 1),
      series('100 processes, 8 in a turn', 100, 8),
    ],
  })
}

function latency({ oneServer }: Plan): string {
  const fleets = oneServer
    .filter((one) => one.processes >= 100 && one.atOnce === 1 && !isFull(one))
    .sort((a, b) => a.busiest - b.busiest)
  const series = (title: string, of: 'p50Us' | 'p99Us'): Series => ({
    title,
    points: fleets.map((one): [number, number] => [one.busiest * 100, one[of] / 1_000]),
  })
  return chart({
    title: 'How long a decision takes, 0.25 ms away from Redis',
    x: { title: "of Redis's core", ticks: [0, 25, 50, 75, 100], unit: ' %', isLog: false },
    y: { title: '', ticks: [0, 0.5, 1, 1.5], unit: ' ms' },
    series: [series('p50', 'p50Us'), series('p99', 'p99Us')],
  })
}

function cluster({ cluster: fleets }: Plan): string {
  const series = (hashTags: (typeof TAGS)[number], atOnce: number): Series => ({
    title: `${hashTags === undefined ? 'own tags' : `${hashTags} tags`}, ${atOnce} in a turn`,
    points: fleets
      .filter((one) => one.hashTags === hashTags && one.atOnce === atOnce)
      .map(({ masters, busiest }: Planned): [number, number] => [
        masters,
        Math.min(1, busiest) * 100,
      ]),
  })
  return chart({
    title: 'What the busiest master of a Cluster needs of its core',
    x: { title: 'masters', ticks: [1, 3, 6, 12], isLog: false },
    y: { title: '', ticks: [0, 25, 50, 75, 100], unit: ' %' },
    series: CLUSTERED_AT_ONCE.flatMap((atOnce) => TAGS.map((hashTags) => series(hashTags, atOnce))),
  })
}
