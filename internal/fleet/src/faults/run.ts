// The fault matrix as a command: `pnpm faults [--short] [--rows 2,3,17] [--jobs 2] [--leases]
// [--library glide]`
import { parseArgs } from 'node:util'
import { LIBRARIES } from './client/user-client.js'
import { judge, judgeAgain, type Verdict } from './judge.js'
import { FULL, SHORT } from './outage.js'
import { line, summary } from './report.js'
import { idOf, type Row } from './row.js'
import { rows } from './rows.js'

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rows: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    leases: { type: 'boolean', default: false },
    library: { type: 'string', default: 'ioredis' },
  },
})

const wanted = values.rows?.split(',').map((id) => id.trim())
const named = rows.filter((row) => {
  if (wanted === undefined) return !(values.short && row.fullOnly)
  return wanted.some((each) => row.number === each || ` ${idOf(row)}`.endsWith(` ${each}`))
})
if (named.length === 0) {
  console.error(`no such rows: ${values.rows}`)
  process.exit(2)
}

const library = LIBRARIES.find((each) => each === values.library)
if (library === undefined) {
  console.error(`no such library: ${values.library}; there are ${LIBRARIES.join(', ')}`)
  process.exit(2)
}
const chosen = named.filter((row) => {
  const leases = values.leases ? row.notWithLeases : undefined
  const why = row.notWith?.[library] ?? (leases && `for with leases ${leases}`)
  if (why !== undefined) console.log(`left out: ${idOf(row)}, ${why}`)
  return why === undefined
})

/** Held for so long that the load of the rows, 200 requests a second, makes a key hot. */
const LEASES = { units: 100, holdMs: 200 }
const changes = { library, ...(values.leases ? { store: { leases: LEASES } } : {}) }
const length = values.short ? SHORT : FULL
const verdicts = new Map<Row, Verdict>()

async function work(queue: Row[]): Promise<void> {
  for (let row = queue.shift(); row !== undefined; row = queue.shift())
    tell(await judge(row, length, changes))
}

function tell(verdict: Verdict): void {
  verdicts.set(verdict.row, verdict)
  console.log(line(verdict))
}

const shared = chosen.filter(({ alone }) => !alone)
await Promise.all(Array.from({ length: Number(values.jobs) }, () => work(shared)))
await work(chosen.filter(({ alone }) => alone))
for (const verdict of [...verdicts.values()].filter(({ state }) => state === 'not judged')) {
  tell(await judgeAgain(verdict, length, changes))
}

const inOrder = chosen.map((row) => verdicts.get(row) as Verdict)
console.log(`\n${summary(inOrder)}`)
// A row that could not be judged has not passed.
process.exit(inOrder.every(({ state }) => state === 'passed') ? 0 : 1)
