// @ts-check
// Which customers are served when not all can be, by what stands in front of the server: 80 paying
// and 500 free requests a second go to a server that can serve 200 a second.
//
//   node examples/overload/src/classes.js       20 s each; needs a build
//   node examples/overload/src/classes.js 10    10 s each
import { pathToFileURL } from 'node:url'
import { PROTECTIONS } from './app.js'
import { send } from './requests.js'
import { withServer } from './with-server.js'

const WORKERS = 16
const MEAN_MS = 80
const MOST_PER_SECOND = (WORKERS * 1_000) / MEAN_MS
const PAYING_PER_SECOND = 80
const FREE_PER_SECOND = 500
const PATIENCE_MS = 3_000
/** The time in which overload protection finds its limit. */
const LEARNT_MS = 3_000

/**
 * @param {string} protection one of PROTECTIONS
 * @param {number} forMs after the first seconds
 * @param {number} [freePerSecond]
 */
export async function measure(protection, forMs, freePerSecond = FREE_PER_SECOND) {
  const rest = { forMs: LEARNT_MS + forMs, patienceMs: PATIENCE_MS }
  const paying = { ...rest, perSecond: PAYING_PER_SECOND, key: 'key-of-a-customer' }
  const free = { ...rest, perSecond: freePerSecond }
  const server = { workers: WORKERS, meanMs: MEAN_MS, protection }
  const sent = await withServer(server, (port) =>
    Promise.all([paying, free].map((options) => send(port, options))),
  )
  const [ofPaying, ofFree] = sent.map((all) => {
    const served = all.filter(({ atMs, status }) => atMs >= LEARNT_MS && status === 200)
    const times = served.map(({ tookMs }) => tookMs).sort((one, other) => one - other)
    return {
      perSecond: (served.length * 1_000) / forMs,
      p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0),
    }
  })
  return { paying: ofPaying, free: ofFree }
}

async function report() {
  const forMs = Number(process.argv[2] ?? 20) * 1_000
  console.log(`${WORKERS} workers, ${MEAN_MS} ms a request: at most ${MOST_PER_SECOND} a second.`)
  console.log(`Asked for: ${PAYING_PER_SECOND} paying, ${FREE_PER_SECOND} free.\n`)
  console.log('| in front | paying, served a second | p99 | free, served a second |')
  console.log('|---|---|---|---|')
  const quiet = await measure('nothing', forMs, 0)
  show('nothing, and only paying customers', quiet)
  for (const name of Object.keys(PROTECTIONS)) show(name, await measure(name, forMs))
}

/**
 * @param {string} what
 * @param {Awaited<ReturnType<typeof measure>>} measured
 */
function show(what, { paying, free }) {
  const cells = [paying?.perSecond.toFixed(1), `${paying?.p99Ms} ms`, free?.perSecond.toFixed(1)]
  console.log(`| ${what} | ${cells.join(' | ')} |`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await report()
