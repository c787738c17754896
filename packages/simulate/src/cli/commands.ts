// The commands `weir simulate` and `weir suggest`.

import type { Policy } from '@weir/core'
import { quote } from '@weir/core/internal'
import type { Algorithm } from '@weir/core/store'
import { misuse, misused } from '../errors.js'
import { policiesIn } from '../files/policies-file.js'
import { readLogs } from '../files/read-logs.js'
import type { LogSource } from '../files/texts.js'
import { isUnnamed, type Limiter, limitersOf, type PoliciesInput, UNNAMED } from '../limiters.js'
import { compareLogs, simulateLog } from '../node.js'
import type { SimulationReport } from '../report.js'
import { candidatesOf } from '../suggest/candidates.js'
import { suggestionWith } from '../suggestion.js'
import type { CommandIo } from './command.js'
import { asHtml, asMarkdown, asText, type Block } from './document.js'
import { doubtsOf } from './doubts.js'
import { SIMULATE_HELP, SUGGEST_HELP } from './help.js'
import { checkHtml, writeHtml } from './html-file.js'
import { asPercent } from './numbers.js'
import {
  checkCompared,
  checkLogs,
  type Given,
  given,
  logSettings,
  shareIn,
  wholeIn,
  windowsIn,
} from './options.js'
import { progressTo, searchProgressTo } from './progress.js'
import { comparisonDocument, simulationDocument } from './simulate-document.js'
import { suggestionDocument } from './suggest-document.js'

/** @returns the exit code */
export async function simulateCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const options = given('simulate', args)
  const { values, compare } = options
  if (values.help) return help(SIMULATE_HELP, io)
  checkLogs('simulate', options)
  await checkHtml(options, io.input)
  const read = { ...logSettings(options), ...sourcesOf(options, io) }
  const wanted: Wanted = {
    refused: shareIn('--max-refused', values['max-refused']),
    affected: shareIn('--max-affected', values['max-affected']),
  }
  if (compare !== undefined) {
    checkCompared(options)
    const [before, after] = await Promise.all(compare.map((file) => policiesIn(file)))
    const both = { before: before as PoliciesInput, after: after as PoliciesInput }
    const report = await compareLogs({ ...read, ...both })
    const { log, before: was, after: is } = report
    const doubts = doubtsOf(log, [...was.limiters, ...is.limiters])
    return end(
      { ...report, doubts, exceeded: exceeded(is, wanted) },
      comparisonDocument,
      options,
      io,
    )
  }
  const policies = await policiesOf(options)
  const source = values.policy ?? 'the policy'
  const report = await simulateLog({ ...read, policies, source })
  const doubts = doubtsOf(report.log, report.limiters)
  return end(
    { ...report, doubts, exceeded: exceeded(report, wanted) },
    simulationDocument,
    options,
    io,
  )
}

interface Ended {
  readonly doubts: readonly string[]
  readonly exceeded: readonly string[]
}

/** Prints a report with the reasons for which it fails. */
async function end<Report extends Ended>(
  report: Report,
  documentOf: (report: Report) => readonly Block[],
  options: Given,
  io: CommandIo,
): Promise<number> {
  const { doubts, exceeded: above } = report
  const blocks = documentOf(report)
  await print(report, [...blocks, ...asBlocks(above)], options, io)
  return doubts.length + above.length === 0 ? 0 : 1
}

/** @returns the exit code */
export async function suggestCommand(args: readonly string[], io: CommandIo): Promise<number> {
  const options = given('suggest', args)
  const { values } = options
  if (values.help) return help(SUGGEST_HELP, io)
  checkLogs('suggest', options)
  await checkHtml(options, io.input)
  const ofKeys = shareIn('--affect', values.affect)
  const ofRequests = shareIn('--affect-requests', values['affect-requests'])
  if (ofKeys !== undefined && ofRequests !== undefined)
    throw misused(
      'WEIR_INVALID_OPTION',
      '--affect and --affect-requests are given; give one of them',
    )
  const { key, cost, skip } = await baseOf(values.policy, values.limiter)
  const read = { ...logSettings(options), ...sourcesOf(options, io) }
  const searching = suggestionWith({
    ...read,
    ...(key !== undefined && { key }),
    cost,
    skip,
    affect: ofKeys ?? ofRequests,
    of: ofRequests === undefined ? 'keys' : 'requests',
    algorithm: values.algorithm as Algorithm | undefined,
    windows: windowsIn(values.windows) as '1s'[] | undefined,
  })
  const log = await readLogs(read, (entry) => searching.add(entry))
  io.blocking?.()
  const found = searching.report(searchProgressTo(io.progress))
  const report = { ...found, log, doubts: doubtsOf(log, [found]), exceeded: [] }
  return end(report, suggestionDocument, options, io)
}

function help(text: string, { out }: CommandIo): number {
  out(text)
  return 0
}

function sourcesOf({ logs }: Given, { input, signal, progress }: CommandIo) {
  const sources: LogSource[] = logs.map((log) => (log === '-' ? input : log))
  return { logs: sources, signal, onProgress: progressTo(progress) }
}

/** The policies, from a file, or from --limit and --window. */
async function policiesOf({ values }: Given): Promise<PoliciesInput> {
  const { policy: file, limiter, limit, window, algorithm } = values
  const isShort = limit !== undefined || window !== undefined
  if (file === undefined && !isShort) {
    const right = 'give --limit 100 --window 1m, or a policies file with --policy FILE'
    throw misused('WEIR_INVALID_OPTION', `no policy is given; ${right}`)
  }
  if (file !== undefined && (isShort || algorithm !== undefined))
    throw misuse('--policy', file, 'it without --limit, --window and --algorithm')
  if (file === undefined) return shortPolicy(limit, window, algorithm)
  const policies = await policiesIn(file)
  return limiter === undefined ? policies : limiterIn(policies, limiter, file)
}

function shortPolicy(limit?: string, window?: string, algorithm = 'sliding-window'): Policy {
  const units = wholeIn('--limit', limit)
  if (units === undefined || window === undefined) {
    const what = units === undefined ? '--limit' : '--window'
    throw misused('WEIR_INVALID_OPTION', `${what} is missing; give --limit 100 --window 1m`)
  }
  try {
    return candidatesOf(algorithm, window as '1s').policy(units)
  } catch (error) {
    throw Object.assign(error as Error, { exitCode: 2 })
  }
}

/** One limiter of a file. The others are not checked: they may be what no simulation takes. */
function limiterIn(policies: PoliciesInput, name: string, file: string): PoliciesInput {
  const known = isUnnamed(policies) ? { [UNNAMED]: policies } : Object(policies)
  if (Object.hasOwn(known, name)) return { [name]: known[name] }
  const names = Object.keys(known).map(quote).join(', ')
  throw misuse('--limiter', name, `one of ${names}, which ${file} has`)
}

/** The key, cost and skip of a limiter in a policies file. */
async function baseOf(file: unknown, name: unknown): Promise<Partial<Limiter>> {
  if (typeof file !== 'string') return {}
  const policies = await policiesIn(file)
  const asked = typeof name === 'string' ? limiterIn(policies, name, file) : policies
  const limiters = limitersOf(asked, file)
  const [only, ...others] = limiters
  if (only !== undefined && others.length === 0) return only
  const names = limiters.map((one) => quote(one.name ?? UNNAMED)).join(', ')
  throw misuse('--limiter', name, `one of ${names}, which ${file} has`)
}

async function print(
  report: object,
  blocks: readonly Block[],
  { values }: Given,
  { out }: CommandIo,
): Promise<void> {
  const { html } = values
  if (html !== undefined) await writeHtml(html, asHtml(blocks))
  if (values.json) out(JSON.stringify(report, undefined, 2))
  else for (const line of values.markdown ? asMarkdown(blocks) : asText(blocks)) out(line)
}

/** The largest shares that a simulation may have, for CI. */
interface Wanted {
  readonly refused: number | undefined
  readonly affected: number | undefined
}

/** A sentence for each share above its limit, in any run of any limiter, and for each limiter that
 *  decided on nothing: a mistyped key would otherwise pass every check. */
function exceeded({ limiters }: SimulationReport, wanted: Wanted): readonly string[] {
  const limits = [
    ['--max-refused', 'requests', wanted.refused, 'refusedShare'],
    ['--max-affected', 'keys', wanted.affected, 'affectedShare'],
  ] as const
  return limits.flatMap(([option, what, most, name]) =>
    limiters.flatMap(({ limiter, requests, runs }) => {
      if (most === undefined) return []
      if (requests === 0)
        return [`limiter ${quote(limiter)} decided on no request, so ${option} says nothing`]
      const share = Math.max(...runs.map((run) => run[name].share))
      if (share <= most) return []
      const part = `${asPercent(share)} % of the ${what} of limiter ${quote(limiter)}`
      return [`${part} would be refused, which is above ${option} ${asPercent(most)} %`]
    }),
  )
}

function asBlocks(sentences: readonly string[]): readonly Block[] {
  return sentences.map((text) => ({ kind: 'text', text }))
}
