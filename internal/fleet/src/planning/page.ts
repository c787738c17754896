// The parts of docs/scaling.md and of its notes that are made from the results. The text around
// them is written by hand and contains no figures.

import type { Results } from './files.js'
import type { Inputs } from './inputs.js'
import {
  AT_ONCE,
  CLUSTERED,
  CLUSTERED_AT_ONCE,
  HOT_PROCESSES,
  HOT_RATES,
  isFull,
  MASTERS,
  type Plan,
  type Planned,
  RATES,
  rateAtGood,
  TAGS,
} from './plan.js'
import type { Validated } from './validate.js'

type Parts = Readonly<Record<string, string>>

/** The number of processes of a large fleet. */
const MANY = 100

/** By page, and by name of the part on that page. */
export function partsOfPages({
  inputs,
  validated,
  plan,
}: Results): Readonly<Record<string, Parts>> {
  return {
    'docs/scaling.md': {
      oneRedis: oneRedis(plan),
      hotKey: hotKey(plan),
      cluster: cluster(plan),
      memory: memory(inputs),
    },
    'internal/fleet/planning/README.md': {
      inputs: inputsText(inputs, plan),
      leased: leased(plan),
      validation: validation(validated),
    },
  }
}

/** The page, with all parts between their marks replaced. */
export function pageWith(page: string, parts: Parts): string {
  let text = page
  for (const [name, part] of Object.entries(parts)) {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
    const [from, to] = [text.indexOf(start), text.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`the page has no place for ${name}`)
    text = `${text.slice(0, from + start.length)}\n\n${part}\n\n${text.slice(to)}`
  }
  return text
}

/** The table of large fleets on one Redis; the number of processes matters little. */
function oneRedis(plan: Plan): string {
  const fleets = plan.oneServer.filter(({ processes }) => processes === MANY)
  const rates = RATES.filter((rate) => fleets.some((one) => one.perSecond === rate && !isFull(one)))
  const rows = AT_ONCE.map((atOnce) => {
    const own = fleets.filter((one) => one.atOnce === atOnce)
    const cells = rates.map((rate) => loadCell(own, rate))
    return [whole(atOnce), ...cells, carries(own), ...costOf(leisurely(plan, atOnce))]
  })
  return table(['decisions in a turn', ...rates.map(whole), 'at 70 %', ...COST_HEADS], rows)
}

const COST_HEADS = ['calls', 'bytes to Redis', 'bytes back', 'CPU of its process, us']

/** A large fleet that leaves Redis idle time. */
function leisurely({ oneServer }: Plan, atOnce: number): Planned {
  return oneServer.find((one) => one.atOnce === atOnce && one.processes === MANY) as Planned
}

/** The cost of one of its decisions. */
function costOf(one: Planned): string[] {
  const { bytesIn, bytesOut, decisions } = one
  const each = (total: number): string => whole(Math.round(total / decisions))
  return [callsOf(one), each(bytesIn), each(bytesOut), processUs(one)]
}

function callsOf({ calls, decisions }: Planned): string {
  return (calls / decisions).toFixed(2)
}

function processUs({ process, processes, decisions }: Planned): string {
  return (((process * processes) / decisions) * 1e6).toFixed(1)
}

/** The load at a rate, or which side is full. */
function loadCell(fleets: readonly Planned[], perSecond: number): string {
  const one = fleets.find((each) => each.perSecond === perSecond) ?? (fleets.at(-1) as Planned)
  if (isFull(one)) return one.busiest > one.process ? 'full' : 'no'
  return percent(one.busiest)
}

function carries(fleets: readonly Planned[]): string {
  const perSecond = rateAtGood(fleets)
  if (perSecond !== undefined) return whole(perSecond)
  return `over ${whole(fleets.findLast((one) => !isFull(one))?.perSecond ?? 0)}`
}

function hotKey({ hotKey: fleets }: Plan): string {
  const rows = HOT_PROCESSES.flatMap((processes) =>
    [false, true].map((leases) => {
      const own = fleets.filter((one) => one.processes === processes && one.leases === leases)
      const cells = HOT_RATES.map((perSecond) => loadCell(own, perSecond))
      return [whole(processes), leases ? 'leases' : '', ...cells]
    }),
  )
  return table(['processes', '', ...HOT_RATES.map(whole)], rows)
}

function leased({ leased: all }: Plan): string {
  const rows = all.map(({ demand, calls, busiest, ahead, used, p99Us }) => [
    percent(demand),
    whole(Math.round(calls)),
    percent(busiest),
    `${(100 * ahead).toFixed(1)} %`,
    `${(100 * used).toFixed(1)} %`,
    (p99Us / 1_000).toFixed(2),
  ])
  const titles = ['calls a second', "of Redis's core", 'without a call', 'of what may pass']
  return table(['demand', ...titles, 'p99, ms'], rows)
}

function cluster({ cluster: fleets }: Plan): string {
  const masters = MASTERS.filter((count) => count > 1)
  const most = `${masters.at(-1)} masters`
  const rows = CLUSTERED_AT_ONCE.flatMap((atOnce) =>
    TAGS.map((hashTags) => {
      const own = fleets.filter((one) => one.atOnce === atOnce && one.hashTags === hashTags)
      const cells = masters.map((count) => {
        const one = own.find((each) => each.masters === count)
        return one === undefined ? '' : loadCell([one], one.perSecond)
      })
      const last = own.at(-1) as Planned
      const tags = hashTags === undefined ? 'own' : whole(hashTags)
      return [whole(atOnce), tags, ...cells, callsOf(last), processUs(last)]
    }),
  )
  const { processes, perSecond } = CLUSTERED
  return [
    `${whole(processes)} processes that make ${whole(perSecond)} decisions a second:`,
    table(
      [
        'decisions in a turn',
        'hash tags',
        ...masters.map((count) => `${count} masters`),
        `calls, ${most}`,
        `CPU of its process, ${most}, us`,
      ],
      rows,
    ),
  ].join('\n\n')
}

function memory({ memory: all }: Inputs): string {
  return table(
    ['policy', 'MB for a million keys'],
    all.map(({ policy, megabytes }) => [`\`${policy}\``, whole(Math.round(megabytes))]),
  )
}

function inputsText(
  { on, server, client, wayUs }: Inputs,
  { wayUs: assumedUs, sample, checked }: Plan,
): string {
  const us = (value: number): string => value.toFixed(1)
  const rows = [
    ['Redis: to wake up', us(server.wakeUs)],
    ['Redis: to wake up after a rest of 1 ms, in addition', us(server.restedUs)],
    ['Redis: to read a connection and to write the replies', us(server.readUs)],
    ['Redis: a call', us(server.callUs)],
    [
      'Redis: each key of a call; if it is written, in addition',
      `${us(server.keyUs)}; ${us(server.changeUs)}`,
    ],
    ['process: a write, and reading its replies', us(client.writeUs)],
    ['process: a call', us(client.callUs)],
    ['process: each key of a call', us(client.keyUs)],
    ['process: each decision', us(client.decisionUs)],
    ['one way between two processes on loopback, in addition', us(wayUs)],
  ]
  return [
    `Measured on ${on.cores} cores with Node ${on.node} and Redis ${on.redis}, in microseconds of CPU:`,
    table(['', 'us'], rows),
    `The fleets above are samples of ${whole(sample)} decisions, with ${whole(assumedUs)} us one way.`,
    [
      `Of ${checked.fleets} of them, samples that are ${checked.longer} times as long differ by at most`,
      `${part(checked.calls)} in calls, ${part(checked.utilisation)} in Redis's CPU and ${part(checked.p99Us)} in p99.`,
    ].join('\n'),
  ].join('\n\n')
}

function validation(all: readonly Validated[]): string {
  const rows = all.map(({ load, processes, real, simulated }) => {
    const both = (of: 'admitted' | 'calls'): string =>
      `${whole(Math.round(real[of]))} / ${whole(Math.round(simulated[of]))} (${signed(simulated[of] / real[of] - 1)})`
    const bytes = [real, simulated].map(({ bytesIn, bytesOut }) =>
      Math.round((bytesIn + bytesOut) / 1_000),
    )
    const redis = `${part(real.redis)} / ${part(simulated.utilisation)}`
    const times = (['p50Us', 'p99Us'] as const).map(
      (of) => `${(real[of] / 1_000).toFixed(2)} / ${(simulated[of] / 1_000).toFixed(2)}`,
    )
    return [
      ...[load, whole(processes), both('admitted'), both('calls')],
      ...[bytes.map(whole).join(' / '), redis, ...times, percent(real.cores)],
    ]
  })
  const heads = [
    ...['load', 'processes', 'admitted a second', 'calls a second', 'kB a second'],
    ...['Redis, of a core', 'p50, ms', 'p99, ms', 'of all cores'],
  ]
  return table(heads, rows)
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(heads), `|${'---|'.repeat(heads.length)}`, ...rows.map(line)].join('\n')
}

function whole(value: number): string {
  return value.toLocaleString('en-US')
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`
}

function part(value: number): string {
  return `${(value * 100).toFixed(1)} %`
}

function signed(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value * 100).toFixed(1)} %`
}
