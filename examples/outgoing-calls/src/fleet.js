// @ts-check
// Four processes that have 50 calls each to make, to a third party that allows 50 in any second.
//
//   REDIS_URL   the Redis in which they queue; by default redis://127.0.0.1:6379

import { startWorker } from './start-worker.js'
import { startThirdParty } from './third-party.js'

const redisUrl = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'
const thirdParty = await startThirdParty(50)
const workers = await Promise.all(Array.from({ length: 4 }, () => startWorker(redisUrl)))
console.log('200 calls, all requested at once: about five seconds')

const begun = performance.now()
const reports = await Promise.all(
  workers.map(({ work }, i) => work({ url: thirdParty.url, name: `worker${i}`, jobs: 50 })),
)
const { calls, complaints, most } = thirdParty.counts
console.log(`${calls} calls in ${((performance.now() - begun) / 1_000).toFixed(1)} s`)
console.log(`at most ${most} of 50 in any second; ${complaints} complaints`)
console.table(reports)

await Promise.all(workers.map(({ stop }) => stop()))
thirdParty.close()
