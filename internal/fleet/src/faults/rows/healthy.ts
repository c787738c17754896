// Redis is well, or has faults that must not show.
import { countAtMost } from '../checks.js'
import { CONTROL } from '../client/protocol.js'
import { latencies, quantile } from '../figures.js'
import { LIMIT, load, NO_FAULT, RATE, type Run, repeated, underFault } from '../outage.js'
import type { Row } from '../row.js'
import { degradedAtMost, exactWindows, latency, over, sane, slowest } from '../verdicts.js'

/** The 99th percentile of the best peer under this load, and what may be added to it. */
const PEERS_P99_MS = 5
const MARGIN_MS = 1

export const none: Row = {
  number: '1',
  fault: 'none',
  alone: true,
  notWithLeases:
    'windows are told apart by their ends, which a decision out of a lease knows less exactly',
  must: 'exact',
  async run(stage, length) {
    const server = await stage.redis()
    const job = load(server.port, { ratePerSecond: 2 * RATE, control: true })
    const both = await underFault(stage, { ...length, afterMs: 0 }, [job], NO_FAULT)
    const control = latencies(both.samples.filter(isControl), stage.reports[0]?.stalls ?? [])
    const run = withoutControl(both)
    const controlMs = quantile(control, 0.99)
    // Where the machine is as slow as that, two such quantiles differ by chance.
    const most = controlMs <= PEERS_P99_MS ? PEERS_P99_MS + MARGIN_MS : 2 * controlMs
    return [latency(run, 0.99, most), ...exactWindows(run), degradedAtMost(run, 0), ...sane(run)]
  },
}

export const scriptFlush: Row = {
  number: '6',
  fault: 'SCRIPT FLUSH every 200 ms',
  must: 'reload inside the call',
  async run(stage, length) {
    const server = await stage.redis()
    const wire = await stage.proxy(server.port)
    let flushes = 0
    const fault = repeated(200, async () => {
      flushes += 1
      await server.command('SCRIPT', 'FLUSH')
    })
    const run = await underFault(stage, { ...length, afterMs: 500 }, [load(wire.port)], fault, wire)
    // A decision that meets a flush needs a second call; few are in flight at that moment.
    const reloads = run.calls.filter(({ name }) => name === 'EVAL').length
    return [
      countAtMost('reloads', reloads, 3 * flushes + 3),
      degradedAtMost(run, 0),
      slowest(run, 150),
      over(run, 2 * LIMIT - 1),
      ...sane(run),
    ]
  },
}

function isControl({ key }: { readonly key: string }): boolean {
  return key === CONTROL
}

function withoutControl(run: Run): Run {
  const reports = run.reports.map((report) => ({
    ...report,
    samples: report.samples.filter((sample) => !isControl(sample)),
  }))
  return { ...run, reports, samples: reports.flatMap(({ samples }) => samples) }
}
