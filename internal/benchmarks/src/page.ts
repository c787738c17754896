// The figures of docs/benchmarks.md, a selection of all that were measured.

import { readFile, writeFile } from 'node:fs/promises'
import { cells, number, type Result } from './report.js'
import { figure } from './table.js'

const PAGE = new URL('../../../docs/benchmarks.md', import.meta.url)

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

const loadOf = (keys: string, section: string, table: string): readonly Column[] => [
  { title: `${keys}: process, us`, section, table, metric: 'clientUs' },
  { title: `${keys}: server, us`, section, table, metric: 'redisUs' },
]

const WEIR = ['Weir sliding window', 'Weir token bucket', 'Weir fixed window']
const PEERS = [
  ...['rate-limit-redis', '@fastify/rate-limit', '@nest-lab/throttler-storage-redis'],
  ...['koa-ratelimit', 'rate-limiter-flexible'],
]
const loadOn = (table: string): Shown => ({
  columns: [
    ...loadOf('distinct keys', 'distinct-keys', table),
    ...loadOf('hot key', 'hot-key', table),
  ],
  subjects: [...WEIR, ...PEERS],
})

/** By the name of the place on the page. */
const TABLES: Readonly<Record<string, Shown>> = {
  load: loadOn('load'),
  valkey: loadOn('valkey'),
  alone: {
    columns: [
      { title: 'p50, us', section: 'alone', table: 'alone-apart', metric: 'p50' },
      { title: 'p99, us', section: 'alone', table: 'alone-apart', metric: 'p99' },
      { title: 'one core: p50, us', section: 'alone', table: 'alone', metric: 'p50' },
    ],
    subjects: [
      ...WEIR,
      ...['rate-limit-redis', 'rate-limiter-flexible', '@fastify/rate-limit', 'koa-ratelimit'],
    ],
  },
  memory: {
    columns: [
      { title: 'Redis, bytes a key', section: 'redis-bytes', table: 'key', metric: 'bytes' },
      { title: 'process, bytes a key', section: 'memory-many-keys', metric: 'bytes' },
    ],
    subjects: [
      ...WEIR,
      ...['Weir sliding counter', 'rate-limit-redis', 'express-rate-limit MemoryStore'],
      ...['@fastify/rate-limit', '@nestjs/throttler', 'koa-ratelimit', 'rate-limiter-flexible'],
    ],
  },
  middleware: {
    columns: [{ title: 'CPU of a request, us', section: 'middleware', metric: 'us' }],
    subjects: [
      ...['Weir for Express', 'Weir for Koa', 'express-rate-limit, draft-8'],
      ...['express-rate-limit, no headers', 'koa-ratelimit', 'rate-limiter-flexible, one header'],
    ],
  },
}

/** @param machine the date, the machine and versions */
export async function writePage(results: readonly Result[], machine: string): Promise<void> {
  let page = withPart(await readFile(PAGE, 'utf8'), 'measured', machine)
  for (const [name, shown] of Object.entries(TABLES))
    page = withPart(page, name, shownText(results, shown))
  await writeFile(PAGE, page)
}

function shownText(results: readonly Result[], { columns, subjects }: Shown): string {
  const lines = subjects.map((subject) => {
    const texts = columns.map((column) => textOf(results, column, subject))
    if (texts.every((text) => text === '')) throw new Error(`${subject} has no figure`)
    return cells([subject.startsWith('Weir') ? `**${subject}**` : subject, ...texts])
  })
  const titles = cells(['', ...columns.map(({ title }) => title)])
  return [titles, `|---|${'---:|'.repeat(columns.length)}`, ...lines].join('\n')
}

function textOf(results: readonly Result[], column: Column, subject: string): string {
  const tables = results.find(({ scenario }) => scenario.id === column.section)?.tables ?? []
  const table = tables.find(({ id }) => column.table === undefined || id === column.table)
  const metric = table?.metrics.find(({ id }) => id === column.metric)
  if (table === undefined || metric === undefined)
    throw new Error(`${column.section} has no ${column.metric}`)
  const value = figure(table, subject, metric.id)
  return value === undefined ? '' : number(value, metric.digits)
}

/** The page with the text between the marks of a part replaced. The rest is written by hand. */
function withPart(page: string, name: string, text: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the page has no place: ${start} ... ${end}`)
  return `${page.slice(0, from + start.length)}\n\n${text}\n\n${page.slice(to)}`
}
