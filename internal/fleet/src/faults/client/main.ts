// A user's process: it makes decisions under load, reports them, and ends by itself when it is told
// to stop.
import { setTimeout as sleep } from 'node:timers/promises'
import { flood, recover } from './flood.js'
import { Journal, tell } from './journal.js'
import { type Loop, openLoop } from './load.js'
import type { Job, ToClient } from './protocol.js'
import { Requests } from './requests.js'
import { openTarget, type Target } from './target.js'
import { now } from './time.js'

/** Requests from before the store closes are answered, at the latest then. */
const LAST_ANSWERS_MS = 1_000

const journal = new Journal()
/**
 * Set by the first message. The channel is closed with the last message; nothing else then keeps
 * the process alive.
 */
let running: {
  readonly job: Job
  readonly loop: Loop
  readonly targets: Target[]
  readonly requests: Requests
}

process.on('message', (message: ToClient) => {
  handle(message).catch((error) => {
    console.error(error)
    process.exit(70)
  })
})

async function handle(message: ToClient): Promise<void> {
  if (message.do === 'start') return start(message.job)
  const { job, targets, requests } = running
  if (message.do === 'peek') return tell({ is: 'peeked', remaining: await requests.peek() })
  if (message.do === 'flood') {
    const { limiter } = targets[0] as Target
    return tell({ is: 'flooded', flood: await flood(limiter, job.flood ?? 0) })
  }
  if (message.do === 'recover') {
    const { store } = targets[0] as Target
    return tell({ is: 'recovered', recovered: await recover(store) })
  }
  await stop(message.drainMs)
}

async function start(job: Job): Promise<void> {
  const opening = Array.from({ length: job.stores ?? 1 }, () => openTarget(job))
  const targets = await Promise.all(opening)
  const requests = new Requests(job, targets, journal)
  const loop = openLoop(
    job.ratePerSecond,
    job.atOnce ?? 1,
    () => requests.send(),
    (stall) => journal.stall(stall),
  )
  running = { job, loop, targets, requests }
  if (job.awaitReady ?? true) await Promise.all(targets.map(({ client }) => client.ready()))
  if (job.flood === undefined) loop.begin()
  tell({ is: 'started' })
}

async function stop(drainMs: number): Promise<void> {
  const { loop, targets, requests } = running
  loop.stop()
  await requests.drain(drainMs)
  const closeMs = await closeStores(targets)
  await requests.drain(LAST_ANSWERS_MS)
  requests.giveUp()
  const leftListeners = targets.flatMap((target) => target.leftListeners())
  for (const { client } of targets) client.close()
  journal.end()
  await sleep(50)
  const closing = { closeMs, leftListeners, resources: process.getActiveResourcesInfo() }
  process.send?.({ is: 'closed', closing }, () => process.disconnect())
}

async function closeStores(targets: readonly Target[]): Promise<number> {
  const begun = now()
  const patience = new AbortController()
  const timeUp = sleep(5_000, undefined, { signal: patience.signal }).catch(() => {})
  await Promise.race([Promise.all(targets.map(({ store }) => store.close?.())), timeUp])
  patience.abort()
  return now() - begun
}
