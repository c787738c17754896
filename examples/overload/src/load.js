// @ts-check
// A real server under three times the load that it can serve, with and without overload protection.
// For a third of the time its pool is five times as slow.
//
//   node examples/overload/src/load.js       30 s each; needs a build
//   node examples/overload/src/load.js 12    12 s each
import { pathToFileURL } from 'node:url'
import { send } from './requests.js'
import { withServer } from './with-server.js'

const WORKERS = 16
const MEAN_MS = 80
const MOST_PER_SECOND = (WORKERS * 1_000) / MEAN_MS
const PATIENCE_MS = 3_000
const SLOWER = 5

/**
 * Runs the server and the load, and returns what was served before, while and after the pool was
 * slow.
 * @param {boolean} isProtected
 * @param {number} forMs
 */
export async function measure(isProtected, forMs) {
  const third = forMs / 3
  const options = { perSecond: 3 * MOST_PER_SECOND, forMs, patienceMs: PATIENCE_MS }
  const server = {
    workers: WORKERS,
    meanMs: MEAN_MS,
    protection: isProtected ? 'overload' : 'nothing',
  }
  const sent = await withServer(server, async (port) => {
    /** @param {number} times */
    const slower = (times) => fetch(`http://127.0.0.1:${port}/slower/${times}`, { method: 'POST' })
    const timers = [
      setTimeout(() => void slower(SLOWER).catch(() => {}), third),
      setTimeout(() => void slower(1).catch(() => {}), 2 * third),
    ]
    const all = await send(port, options)
    for (const timer of timers) clearTimeout(timer)
    return all
  })
  return [0, 1, 2].map((part) => {
    // Leaves out the seconds after each change.
    const ofPart = sent.filter(
      ({ atMs }) => atMs >= (part + 0.3) * third && atMs < (part + 1) * third,
    )
    const served = ofPart.filter(({ status }) => status === 200)
    const times = served.map(({ tookMs }) => tookMs).sort((one, other) => one - other)
    return {
      servedPerSecond: Math.round((served.length * 1_000) / (0.7 * third)),
      p50Ms: Math.round(times[Math.floor(times.length / 2)] ?? 0),
      p99Ms: Math.round(times[Math.floor(times.length * 0.99)] ?? 0),
      refused: ofPart.filter(({ status }) => status === 503).length / ofPart.length,
      inVain: ofPart.filter(({ status }) => status === 0).length / ofPart.length,
    }
  })
}

async function report() {
  const seconds = Number(process.argv[2] ?? 30)
  console.log(`${WORKERS} workers, ${MEAN_MS} ms a request: at most ${MOST_PER_SECOND} a second.`)
  console.log(`Asked for: ${3 * MOST_PER_SECOND}. Clients wait for ${PATIENCE_MS} ms.\n`)
  console.log('| | | served a second | p50 | p99 | refused | left in vain |')
  console.log('|---|---|---|---|---|---|---|')
  for (const isProtected of [false, true]) {
    const parts = await measure(isProtected, seconds * 1_000)
    parts.forEach((part, i) => {
      const what = ['at first', `pool ${SLOWER} times as slow`, 'afterwards'][i]
      const { servedPerSecond, p50Ms, p99Ms } = part
      const [refused, inVain] = [part.refused, part.inVain].map(
        (share) => `${Math.round(100 * share)} %`,
      )
      const who = isProtected ? 'overload()' : 'without'
      const cells = [who, what, servedPerSecond, `${p50Ms} ms`, `${p99Ms} ms`, refused, inVain]
      console.log(`| ${cells.join(' | ')} |`)
    })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await report()
