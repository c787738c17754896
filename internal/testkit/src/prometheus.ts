// A real Prometheus, with its own port and folder, which always ends with the process that started
// it; and promtool.

import { spawnSync } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askFinder } from './binary.js'
import { startGuarded } from './guarded.js'
import { freePort } from './ports.js'
import { waitUntil } from './wait.js'

export interface PrometheusOptions {
  /** The `host:port` pairs to scrape at /metrics, under the job `weir`. */
  readonly targets: readonly string[]
  /** The text of a rules file. */
  readonly rules: string
  /** How often Prometheus scrapes, and evaluates rules. */
  readonly everyMs: number
}

/** A series of an answer: its labels, and its present value. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  /** The present value of an expression. Throws if the expression is not valid. */
  query(expression: string): Promise<readonly Sample[]>
  /** The states of an alert's instances, `pending` or `firing`; empty if it is not active. */
  alertStates(name: string): Promise<readonly string[]>
  /** Ends Prometheus at once and removes its folder. */
  stop(): Promise<void>
}

let folder: string | undefined

/** The folder of `prometheus` and `promtool`. */
function programs(): string {
  folder ??= askFinder('prometheus')
  return folder
}

/** Runs promtool and waits for its end. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(join(programs(), 'promtool'), args, {
    input,
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { targets, rules, everyMs } = options
  const own = await mkdtemp(join(tmpdir(), 'weir-prometheus-'))
  const config = {
    global: {
      scrape_interval: `${everyMs}ms`,
      scrape_timeout: `${everyMs}ms`,
      evaluation_interval: `${everyMs}ms`,
    },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'weir', static_configs: [{ targets }] }],
  }
  // JSON is YAML.
  await writeFile(join(own, 'prometheus.yml'), JSON.stringify(config))
  await writeFile(join(own, 'rules.yml'), rules)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const args = [
    `--config.file=${join(own, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(own, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]
  const server = startGuarded(join(programs(), 'prometheus'), args, own)

  async function answer(path: string): Promise<unknown> {
    const response = await fetch(url + path)
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return (JSON.parse(text) as { readonly data: unknown }).data
  }

  try {
    const ready = async () => server.hasEnded() || (await fetch(`${url}/-/ready`)).ok
    await waitUntil(`Prometheus on port ${port}`, ready, 60_000)
    if (server.hasEnded()) throw new Error('Prometheus ended')
  } catch (error) {
    await server.stop()
    throw new Error(`Prometheus did not start:\n${server.log()}`, { cause: error })
  }

  return {
    async query(expression) {
      const data = await answer(`/api/v1/query?query=${encodeURIComponent(expression)}`)
      const { resultType, result } = data as { resultType: string; result: unknown }
      if (resultType !== 'vector') throw new Error(`${expression} is a ${resultType}`)
      return (result as { metric: Sample['labels']; value: [number, string] }[]).map(
        ({ metric, value }) => ({ labels: metric, value: Number(value[1]) }),
      )
    },
    async alertStates(name) {
      const { alerts } = (await answer('/api/v1/alerts')) as {
        alerts: { labels: { alertname: string }; state: string }[]
      }
      return alerts.filter(({ labels }) => labels.alertname === name).map(({ state }) => state)
    },
    stop: () => server.stop(),
  }
}
