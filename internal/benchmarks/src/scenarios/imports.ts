// The time until an application has loaded a limiter, in a new process each time.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Goal } from '../goals.js'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import { median } from '../statistics.js'
import type { Kind, Metric, Table } from '../table.js'

const WEIR = '@weir/express'
const ERL = 'express-rate-limit'
/** The base: every one of the others loads a few of its modules. */
const FLOOR = 'node:http'

const metrics: readonly Metric[] = [
  { id: 'ms', title: 'time, ms', digits: 1, better: 'less', base: ERL },
  { id: 'cpuMs', title: 'CPU, ms', digits: 1, better: 'less', base: ERL },
]

const subjects: readonly { readonly name: string; readonly kind: Kind }[] = [
  { name: FLOOR, kind: 'floor' },
  { name: WEIR, kind: 'weir' },
  { name: '@weir/core', kind: 'weir' },
  { name: ERL, kind: 'peer' },
  { name: 'rate-limiter-flexible', kind: 'peer' },
]

const FORMS = {
  import: { title: 'import', load: (name: string) => `await import('${name}')` },
  require: {
    title: 'require',
    load: (name: string) => `process.getBuiltinModule('module').createRequire(here)('${name}')`,
  },
}
type Form = keyof typeof FORMS
const forms = Object.keys(FORMS) as Form[]

const goals: readonly Goal[] = forms.map((table) => ({
  ...{ table, metric: 'ms', what: `${FORMS[table].title} of a limiter`, of: [WEIR] },
  ...{ per: ERL, peer: ERL, floor: FLOOR, atMost: 1.2 },
}))

export const imports: Scenario = {
  id: 'imports',
  title: 'Loading',
  about: `Time and CPU time of import and of require() in a new process, as it says itself, with files that the system has read before. A round is the median of five processes of each, in turn. Neither ${WEIR} nor ${ERL} loads Express.`,
  goals,
  measure,
}

async function measure({ rounds, turnMs }: Scale): Promise<readonly Table[]> {
  // A process takes about 50 ms, most of it before the first line.
  const times = Math.max(1, Math.round(turnMs / 80))
  const tables: Table[] = []
  for (const form of forms) {
    await inRounds(subjects, 1, ({ name }) => turn(form, name, 1))
    const samples = await inRounds(subjects, rounds, ({ name }) => turn(form, name, times))
    const rows = subjects.map(({ name, kind }, i) => ({
      ...{ subject: name, kind },
      samples: samples[i] ?? {},
    }))
    tables.push({ id: form, title: FORMS[form].title, metrics, rows })
  }
  return tables
}

async function turn(form: Form, name: string, times: number): Promise<Turn> {
  const loads: Turn[] = []
  for (let i = 0; i < times; i += 1) loads.push(await load(form, name))
  const medianOf = (metric: string): number => median(loads.map((each) => each[metric] as number))
  return { ms: medianOf('ms'), cpuMs: medianOf('cpuMs') }
}

const folder = fileURLToPath(new URL('../..', import.meta.url))

async function load(form: Form, name: string): Promise<Turn> {
  const program = `
    const here = ${JSON.stringify(`${folder}package.json`)}
    const startMs = performance.now()
    const cpu = process.cpuUsage()
    ${FORMS[form].load(name)}
    const { user, system } = process.cpuUsage(cpu)
    const ms = performance.now() - startMs
    console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1_000 }))
  `
  const args = ['--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  return JSON.parse(stdout)
}
