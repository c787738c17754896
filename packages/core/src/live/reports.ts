// What a process reports about its live policies: its defaults, the version that holds, and what it
// refuses. The command line checks a change against these reports, and shows what holds where.

import type { Policy } from '../algorithms/policy.js'
import { policyIn, policyText } from '../algorithms/policy-from.js'
import type { SettingsReport } from '../settings.js'
import type { NamedSettings } from './changes.js'
import { fieldOf } from './fields.js'
import type { LiveProcess, LiveRefusal, LiveStatus } from './types.js'

/** The shortest time between two reports of a process. */
const SOON_MS = 1_000
/** How long after the last report an unchanged one is sent again. */
const AGAIN_MS = 5_000
/** How long the store keeps a report. */
const TTL_MS = 15_000
/** Characters of defaults in a report; defaults beyond that are left out. */
const LONGEST = 16_000
const MOST_REFUSALS = 10
const LONGEST_REASON = 200

interface Report extends Omit<LiveProcess, 'process' | 'defaults' | 'refused'> {
  readonly defaults: Readonly<Record<string, object>>
  /** Why, by field. */
  readonly refused: Readonly<Record<string, string>>
}

/** Makes the text that a process reports. */
export function reporterOf(
  defaults: ReadonlyMap<string, Policy>,
): (status: LiveStatus, refused: ReadonlyMap<string, string>) => string {
  const shown: Record<string, object> = {}
  let left = LONGEST
  for (const [name, policy] of defaults) {
    const text = policyText(policy)
    left -= name.length + text.length
    if (left > 0) shown[name] = JSON.parse(text) as object
  }
  return ({ version, pending, isCurrent }, refused) => {
    const some = [...refused].slice(0, MOST_REFUSALS)
    const reasons = some.map(([field, why]) => [field, why.slice(0, LONGEST_REASON)] as const)
    const state = { version, pending, isCurrent, isWhole: left > 0 }
    const report: Report = { ...state, defaults: shown, refused: Object.fromEntries(reasons) }
    return JSON.stringify(report)
  }
}

/** Undefined: the text is not a report. */
export function processOf({ process, text }: SettingsReport): LiveProcess | undefined {
  try {
    const report = JSON.parse(text) as Report
    const shown = Object.entries(report.defaults)
    const defaults = shown.map(([name, data]) => [name, policyIn(data)] as const)
    const known = defaults.filter((each): each is [string, Policy] => each[1] !== undefined)
    const refused = Object.entries(report.refused).map(([field, why]) => refusalOf(field, why))
    return {
      process,
      version: Number(report.version),
      pending: Number(report.pending),
      isCurrent: report.isCurrent === true,
      defaults: Object.fromEntries(known),
      isWhole: report.isWhole === true && known.length === shown.length,
      refused: refused.filter((each) => each !== undefined),
    }
  } catch {
    return undefined
  }
}

function refusalOf(text: string, why: unknown): LiveRefusal | undefined {
  const field = fieldOf(text)
  return field === undefined ? undefined : { ...field, why: String(why) }
}

/** The processes with live policies of a name that have reported. */
export async function processesOf({
  settings,
  name,
}: NamedSettings): Promise<readonly LiveProcess[]> {
  const reports = (await settings.reports?.(name)) ?? []
  const processes = reports.map(processOf).filter((each) => each !== undefined)
  return processes.sort((one, two) => (one.process < two.process ? -1 : 1))
}

interface ReportingOptions extends NamedSettings {
  readonly textOf: () => string
  /** Called for each report that fails, from the third failure in a row. */
  readonly failed: (error: unknown) => void
}

export class Reporting {
  readonly #options: ReportingOptions
  /** The id by which others know this process. */
  readonly mark: string
  #sent: string | undefined
  #sentAtMs = Number.NEGATIVE_INFINITY
  #isSending = false
  #failures = 0

  constructor(options: ReportingOptions) {
    this.#options = options
    this.mark = options.time.random().toString(36).slice(2, 8)
  }

  /** To be called after each poll of the settings. */
  report(): void {
    const { settings, name, time, textOf, failed } = this.#options
    const sinceMs = time.nowMs() - this.#sentAtMs
    if (settings.report === undefined || this.#isSending || sinceMs < SOON_MS) return
    const text = textOf()
    if (text === this.#sent && sinceMs < AGAIN_MS) return
    this.#isSending = true
    this.#sentAtMs = time.nowMs()
    this.#sent = text
    settings.report(name, this.mark, text, TTL_MS).then(
      () => {
        this.#isSending = false
        this.#failures = 0
      },
      (error: unknown) => {
        this.#isSending = false
        this.#sent = undefined
        this.#failures += 1
        if (this.#failures >= 3) failed(error)
      },
    )
  }

  close(): void {
    if (this.#sentAtMs === Number.NEGATIVE_INFINITY) return
    const { settings, name } = this.#options
    settings.report?.(name, this.mark, '', TTL_MS).catch(() => {})
  }
}
