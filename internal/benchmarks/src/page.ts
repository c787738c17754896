// The chart and the tables of docs/benchmarks.md: a selection of all measured figures.

import { type Bars, bars } from './bars.js'
import type { Figure, KeptRow, KeptTable, RunRecord } from './record.js'
import { cells, number } from './report.js'

interface Column {
  readonly title: string
  readonly section: string
  /** If undefined, the only or first table of the section. */
  readonly table?: string
  readonly metric: string
}

interface Shown {
  readonly columns: readonly Column[]
  readonly subjects: readonly string[]
}

const load = (keys: string, section: string): readonly Column[] => [
  { title: `${keys}: process, us`, section, metric: 'clientUs' },
  { title: `${keys}: Redis, us`, section, metric: 'redisUs' },
]
const DISTINCT = load('distinct keys', 'distinct-keys')
const HOT = load('hot key', 'hot-key')

const WEIR = ['Weir sliding window', 'Weir token bucket', 'Weir fixed window']
const PEERS = [
  ...['rate-limit-redis', '@fastify/rate-limit', '@nest-lab/throttler-storage-redis'],
  ...['koa-ratelimit', 'rate-limiter-flexible'],
]
const loaded = ['Smallest script, 32 in a call', 'INCR', ...WEIR, ...PEERS]

/** By the name of the place on the page. */
const TABLES: Readonly<Record<string, Shown>> = {
  load: { columns: [...DISTINCT, ...HOT], subjects: loaded },
  alone: {
    columns: [
      { title: 'p50, us', section: 'alone', table: 'alone-apart', metric: 'p50' },
      { title: 'p99, us', section: 'alone', table: 'alone-apart', metric: 'p99' },
      { title: 'one core: p50, us', section: 'alone', table: 'alone', metric: 'p50' },
    ],
    subjects: [
      ...['Smallest script', 'INCR', ...WEIR],
      ...['rate-limit-redis', 'rate-limiter-flexible', '@fastify/rate-limit', 'koa-ratelimit'],
    ],
  },
  memory: {
    columns: [
      { title: 'Redis, bytes a key', section: 'redis-bytes', table: 'key', metric: 'bytes' },
      { title: 'process, bytes a key', section: 'memory-many-keys', metric: 'bytes' },
    ],
    subjects: [
      ...['Smallest script', 'INCR', ...WEIR, 'Weir sliding counter'],
      ...['rate-limit-redis', 'express-rate-limit MemoryStore', '@fastify/rate-limit'],
      ...['@nestjs/throttler', 'koa-ratelimit', 'rate-limiter-flexible'],
    ],
  },
  middleware: {
    columns: [{ title: 'CPU of a request, us', section: 'middleware', metric: 'us' }],
    subjects: [
      ...['two setHeader', 'Weir for Express', 'Weir for Koa', 'express-rate-limit, draft-8'],
      ...['express-rate-limit, no headers', 'koa-ratelimit', 'rate-limiter-flexible, one header'],
    ],
  },
}

/** The text between the marks of the page, by name. */
export function partsOf(record: RunRecord): Readonly<Record<string, string>> {
  const tables = Object.entries(TABLES).map(([name, shown]) => [name, tableText(record, shown)])
  return { ...Object.fromEntries(tables), measured: machineOf(record) }
}

/** The date and the machine, without the versions of all packages, which a run prints. */
function machineOf({ measured }: RunRecord): string {
  return `${measured.split('; ').slice(0, 2).join('; ')}.`
}

function tableText(record: RunRecord, { columns, subjects }: Shown): string {
  const lines = subjects.map((subject) => {
    const texts = columns.map((column) => figureText(record, column, subject))
    if (texts.every((text) => text === '')) throw new Error(`${subject} has no figure`)
    return cells([subject.startsWith('Weir') ? `**${subject}**` : subject, ...texts])
  })
  const titles = cells(['', ...columns.map(({ title }) => title)])
  return [titles, `|---|${'---:|'.repeat(columns.length)}`, ...lines].join('\n')
}

function figureText(record: RunRecord, column: Column, subject: string): string {
  const value = figureOf(record, column, subject)?.value
  const digits = tableOf(record, column).metrics.find(({ id }) => id === column.metric)?.digits
  return value === undefined ? '' : number(value, digits ?? 0)
}

function figureOf(record: RunRecord, column: Column, subject: string): Figure | undefined {
  const row = tableOf(record, column).rows.find((each: KeptRow) => each.subject === subject)
  return row?.figures[column.metric]
}

function tableOf({ sections }: RunRecord, { section, table }: Column): KeptTable {
  const tables = sections.find(({ id }) => id === section)?.tables ?? []
  const found = table === undefined ? tables[0] : tables.find(({ id }) => id === table)
  if (found === undefined) throw new Error(`the record has no table ${table ?? ''} of ${section}`)
  return found
}

export function chartOf(record: RunRecord): string {
  const groupOf = (title: string, parts: readonly Column[]): Bars['groups'][number] => {
    const rows = [...WEIR.slice(0, 2), ...PEERS].map((name) => ({
      name,
      isOurs: name.startsWith('Weir'),
      values: parts.map((column) => figureOf(record, column, name)?.value ?? 0),
    }))
    return { title, rows }
  }
  return bars({
    title: 'CPU time of one decision, in microseconds: less is better',
    parts: ['the process that asks', 'Redis'],
    groups: [groupOf('Distinct keys', DISTINCT), groupOf('One hot key', HOT)],
  })
}
