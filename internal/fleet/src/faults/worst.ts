// The summary in docs/faults.md: the worst figures of rows of one kind, from their full table.
import { withTable } from './report.js'
import { idOf, type Row } from './row.js'

/** Rows that show one kind of failure. */
interface Kind {
  readonly failure: string
  /** The ids of rows; a number, or a use, stands for all its rows. */
  readonly rows: readonly string[]
  /** Figures by their name in the rows, and the text of the summary, with `#` for the worst
   *  value. */
  readonly figures?: Readonly<Record<string, string>>
  /** The text of the summary if no figure shows what passing means. */
  readonly shows?: string
}

const UNITS = '# passed'
const SLOWEST = { max: 'slowest decision # ms' }
const UNTIL_NORMAL = { normal: 'normal after # ms' }
const OF_100 = { ...SLOWEST, over: UNITS, ...UNTIL_NORMAL }

const KINDS: Readonly<Record<string, readonly Kind[]>> = {
  'How long decisions take': [
    {
      failure: 'none',
      rows: ['1'],
      figures: { p99: '99 % within # ms', 'most in a window': UNITS },
    },
    {
      failure: 'Redis ends and comes back empty, or starts after the service',
      rows: ['2', '5', '16'],
      figures: OF_100,
    },
    {
      failure: 'Redis hangs or pauses, or the network drops packets',
      rows: ['3', '4', '13'],
      figures: OF_100,
    },
    {
      failure: 'Redis answers 200 ms late',
      rows: ['10'],
      figures: { p99: '99 % within # ms', over: UNITS },
    },
    {
      failure:
        'Redis refuses: out of memory, `READONLY`, `NOREPLICAS`, `MISCONF`, `LOADING`, `CLUSTERDOWN`, `BUSY`',
      rows: ['8', '9'],
      figures: OF_100,
    },
    {
      failure: 'Redis forgets the script, or fails to load it',
      rows: ['6', '7'],
      figures: OF_100,
    },
    {
      failure: 'connections end five or ten times a second',
      rows: ['11', '12'],
      figures: SLOWEST,
    },
    { failure: 'a failover, by Sentinel or in a Cluster', rows: ['21'], figures: OF_100 },
    {
      failure: 'one Cluster shard is gone or hangs',
      rows: ['22'],
      figures: { ...SLOWEST, 'local decisions on other keys': '# local decisions on other keys' },
    },
    {
      failure: 'slots of a Cluster move, and a master fails over',
      rows: ['moving slots'],
      figures: { ...SLOWEST, over: '# passed, limit 5' },
    },
    {
      failure: 'Redis goes away again while it counts what was admitted',
      rows: ['cut recovery'],
      figures: { ...SLOWEST, ...UNTIL_NORMAL },
    },
    {
      failure: '50 instances come back at once',
      rows: ['24'],
      figures: { ...OF_100, 'probes and reconciliations': 'first calls spread over # ms' },
    },
    {
      failure: 'the same faults, for requests that wait for up to 500 ms',
      rows: ['waiting'],
      figures: { ...SLOWEST, over: '# passed, limit 110' },
    },
    {
      failure: 'the same faults, for requests that settle after 500 ms',
      rows: ['settling'],
      figures: { max: 'decision and settlement # ms', over: UNITS },
    },
    {
      failure: '`close()` during a fault',
      rows: ['25'],
      figures: { 'close()': 'slowest # ms' },
    },
  ],
  'How much passes, and what else was tested': [
    {
      failure: 'all processes, or some, are cut off and come back',
      rows: ['26', '27', '28', '32', '33', '35', '36', '37', '38'],
    },
    { failure: 'Redis forgets all keys, twice', rows: ['34'] },
    {
      failure:
        'Redis comes back empty or with older data, and processes have seen different amounts',
      rows: ['41', '42'],
    },
    { failure: 'processes start just before they are cut off, without `instances`', rows: ['43'] },
    {
      failure: 'processes start, and wait for turns before Redis is heard',
      rows: ['44'],
      figures: { over: '# passed in 2 s, bound 21' },
    },
    { failure: 'short losses of connection, lost replies', rows: ['29', '30', '31'] },
    {
      failure: '4 processes at once, with clocks up to 60 s apart',
      rows: ['18', '19'],
      figures: {
        'least in a whole window': 'at least # in each window',
        'most in a window': 'at most #',
        'reset off by': 'reset times wrong by # ms',
      },
    },
    {
      failure: '4 processes without Redis',
      rows: ['17'],
      figures: { 'per window in total': 'together # in a window' },
    },
    {
      failure: 'Redis loses data under load, or a late replica takes over',
      rows: ['5b'],
      shows: 'no more passed than the limit and the requests in flight',
    },
    {
      failure: 'each algorithm: used up, then Redis comes back empty',
      rows: ['each algorithm'],
      figures: { admitted: '# passed, with what a bucket refilled' },
    },
    {
      failure: 'calls that Redis runs after a hang of 3 s',
      rows: ['20'],
      figures: {
        'counted but not admitted': '# units counted and not admitted',
        'admitted but not counted': '# admitted and not counted',
      },
    },
    {
      failure: 'a foreign value under a key',
      rows: ['14'],
      figures: { 'other key degraded': '# decisions on other keys affected' },
    },
    {
      failure: 'a key loses its TTL',
      rows: ['15'],
      figures: { 'longest denial': 'denied for # ms of a window of 2 s' },
    },
    {
      failure: '1,000,000 made-up keys, without Redis or in a `memoryStore`',
      rows: ['23'],
      figures: {
        'memory, MB': '# MB of memory',
        'longest step beside the requests': 'longest turn of the event loop # ms',
        'longest step of recovery': 'in recovery # ms',
      },
    },
    {
      failure: 'a lock-out, while Redis forgets or is away',
      rows: ['39'],
      figures: { granted: '# attempts granted, limit 20' },
    },
    {
      failure: 'slots of a `concurrency` are forgotten, or their holders cut off or killed',
      rows: ['40'],
      figures: { 'in progress': '# in progress, limit 8' },
    },
    {
      failure: 'keys of any shape in a Cluster',
      rows: ['hostile keys'],
      figures: { 'most for a key': '# passed for a key, limit 5' },
    },
  ],
}

const BOUNDED = /(\d+) <= (\d+)$/

/** The figures of rows by id, from the full table. */
function measuredIn(results: string): Map<string, string> {
  const lines = [...results.matchAll(/^\| ([^|]+?) \|.*?([^|]*) \|$/gm)]
  return new Map(lines.map(([, id = '', measured = '']) => [id, measured.trim()]))
}

function isOf({ rows }: Kind, row: Row): boolean {
  return rows.some((each) => each === idOf(row) || each === (row.use ?? row.number))
}

/** The values of a figure, in any part of a row. */
function valuesOf(what: string, items: readonly string[]): number[] {
  return items.flatMap((item) => {
    const text = item.slice(item.indexOf(': ') + 1).trimStart()
    const value = text.startsWith(`${what} `) ? text.slice(what.length + 1) : undefined
    if (value === undefined) return []
    return [value.startsWith('never') ? Number.POSITIVE_INFINITY : Number.parseFloat(value)]
  })
}

function worstOf({ figures, shows }: Kind, cells: readonly string[]): string {
  const failed = cells.some((cell) => cell.includes('(**')) ? ' (**not all passed**)' : ''
  const items = cells.flatMap((cell) => cell.split('; '))
  if (shows !== undefined) return shows + failed
  if (figures === undefined) return mostAgainstBound(items) + failed
  const texts = Object.entries(figures).flatMap(([what, text]) => {
    const values = valuesOf(what, items)
    if (values.length === 0) return []
    const worst = what.startsWith('least') ? Math.min(...values) : Math.max(...values)
    return [text.replace('#', Number.isFinite(worst) ? String(worst) : 'never')]
  })
  return texts.join('; ') + failed
}

function mostAgainstBound(items: readonly string[]): string {
  const pairs = items.flatMap((item) => {
    const [, passed, bound] = BOUNDED.exec(item) ?? []
    return passed === undefined ? [] : [{ passed: Number(passed), bound: Number(bound) }]
  })
  const most = pairs.reduce((a, b) => (b.passed > a.passed ? b : a), { passed: 0, bound: 0 })
  return `${most.passed} passed, bound ${most.bound}`
}

/** The page with its tables generated from the full one. */
export function withWorst(page: string, results: string, all: readonly Row[]): string {
  const measured = measuredIn(results)
  const tables = Object.entries(KINDS).map(([title, kinds]) => {
    const lines = kinds.map((kind) => {
      const cells = all.filter((row) => isOf(kind, row)).map((row) => measured.get(idOf(row)) ?? '')
      return `| ${kind.failure} | ${kind.rows.join(', ')} | ${worstOf(kind, cells)} |`
    })
    return [
      `## ${title}`,
      '',
      '| failure | rows | worst measured |',
      '|---|---|---|',
      ...lines,
    ].join('\n')
  })
  return withTable(page, `\n${tables.join('\n\n')}\n`, 'worst')
}

/** Rows that the summary leaves out. */
export function leftOut(all: readonly Row[]): string[] {
  const kinds = Object.values(KINDS).flat()
  return all.filter((row) => !kinds.some((kind) => isOf(kind, row))).map(idOf)
}
