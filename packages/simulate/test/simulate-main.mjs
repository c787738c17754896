// Simulates a log in a separate process, and prints what it took.
import { existsSync, readFileSync } from 'node:fs'
import { slidingWindow } from '@weir/core'
import { simulateLog } from '@weir/simulate/node'

const start = performance.now()
const policies = slidingWindow({ limit: 20, window: '1m' })
const report = await simulateLog({ logs: [process.argv[2]], policies })
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
console.log(
  JSON.stringify({
    seconds: Number(((performance.now() - start) / 1_000).toFixed(1)),
    cpuSeconds: Number(((userCPUTime + systemCPUTime) / 1e6).toFixed(1)),
    rssMb: Math.round(peakKb(maxRSS) / 1_024),
    report,
  }),
)

/** On Linux, `maxRSS` begins with the size of the process that started this one. */
function peakKb(maxRSS) {
  const status = '/proc/self/status'
  const text = existsSync(status) ? readFileSync(status, 'utf8') : ''
  return Number(/^VmHWM:\s*(\d+) kB/m.exec(text)?.[1] ?? maxRSS)
}
