// One call of the driver: its requests, its arguments and its reply. driver.lua says what the
// script expects. Equal requests stand in it as one request with a count, whose grants go to them
// in the order in which they came.

import type { Reading } from '../../algorithms/driver.js'
import { CALL_MODES, type CallMode, reserves, tellsUsed, traitsOf } from '../../algorithms/modes.js'
import { quote, StoreError } from '../../base/errors.js'
import type { LayerRequest, Pending } from '../../layer.js'
import { areOne, arrayOf, countsAttempts, resultOf } from '../../request.js'
import type { PolicySet } from '../../store.js'
import { type KeyFormat, type KeyNames, keyNames, keysOf } from './keys.js'
import { unpackNumbers } from './msgpack.js'
import type { RedisNode } from './nodes.js'
import { type Script, scriptOf } from './script.js'
import { numbersInText, type ScriptForm } from './script-forms.js'

/** What is the same for all calls of a policy set. */
export interface PreparedScript {
  readonly policySet: PolicySet
  /** The one with literal keys, once a proxy has refused the usual one. */
  script: Script
  readonly repliesInText: boolean
  readonly names: KeyNames
  readonly policyNumbers: readonly string[]
  /** Some of the numbers describe a calendar period, which depends on the time. */
  readonly hasPeriods: boolean
  /** Equal requests may be decided as one. */
  readonly merges: boolean
  /** One of the policies has a `notifyAt`, so replies of some modes say what was used before. */
  readonly notifies: boolean
  /** Holds the readings of one request after the other, as new objects would be thrown away at
   *  once. */
  readonly readings: readonly Reading[]
}

export function prepareScript(
  format: KeyFormat,
  policySet: PolicySet,
  form: ScriptForm = {},
): PreparedScript {
  return {
    policySet,
    script: scriptOf(policySet, form),
    repliesInText: form.repliesInText === true,
    names: keyNames(format, policySet),
    policyNumbers: policySet.policies.flatMap(({ numbers }) => numbers.map(String)),
    hasPeriods: policySet.policies.some(({ kernel }) => kernel?.periodAt !== undefined),
    merges: !countsAttempts({ policySet }),
    notifies: policySet.policies.some(({ notifyAt }) => notifyAt !== undefined),
    readings: policySet.policies.map(() => ({ used: undefined, left: 0, waitMs: 0, resetUs: 0 })),
  }
}

/**
 * This is a class, and its array is a copy, because V8 watches literals: if most of a literal's
 * first hundred objects survive a collection, it allocates all later ones where only a major
 * collection frees them. While one key is hot, few entries are made. When distinct keys then bring
 * many at a time, these survive, and all later entries would keep their decisions alive.
 */
export class JoinedEntry {
  readonly request: LayerRequest
  readonly first: Pending
  /** Those who wait for equal requests, in the order in which they came. */
  others: Pending[] = NOBODY

  constructor(request: LayerRequest, first: Pending) {
    this.request = request
    this.first = first
  }

  join(pending: Pending): void {
    if (this.others === NOBODY) this.others = NOBODY.slice()
    this.others.push(pending)
  }
}
/** The `others` of an entry that no request has joined. */
const NOBODY: Pending[] = []

/** A request and who waits for it; or equal requests, which are decided as one. */
export type Entry = Readonly<Pick<JoinedEntry, 'request' | 'first' | 'others'>>

/** Requests that say more than their costs have separate modes. */
export function callModeOf({ mode, atLeast, keep, aheadMs }: LayerRequest): CallMode {
  if (aheadMs !== undefined && mode === 'consume') return 'lease'
  if (atLeast === undefined && keep === undefined) return mode
  const { judges, changes } = traitsOf(mode)
  if (!judges) return mode
  return changes ? 'reserve' : 'preview'
}

/** The arguments of a call that was not sent yet. */
const NONE: readonly string[] = []

/** Requests of one policy set and mode, which are decided in order; more may join them. */
export class OpenCall {
  readonly prepared: PreparedScript
  readonly script: Script
  readonly slot: number
  readonly mode: CallMode
  /** The instant of the requests, if the clock is injected: a call has one. */
  readonly nowUs: number | undefined
  readonly entries: JoinedEntry[]
  /** The entries that equal requests join, by what these have in common; undefined while there is
   *  at most one entry: a lone request needs no Map. */
  singles: Map<string, JoinedEntry> | undefined = undefined
  isOpen = true
  /** The slot's next open call. */
  next: OpenCall | undefined
  /** Once it is sent: to which node, with which arguments of EVALSHA, and when. */
  node: RedisNode | undefined = undefined
  args: readonly string[] = NONE
  sentAtMs = 0
  /** For calendar periods, unless the clock is injected: the server's time. It is guessed at first;
   *  if the guess lies in other periods, the call is sent again with the time that the server
   *  named. */
  periodUs?: number | undefined = undefined
  isSecond?: boolean | undefined = undefined

  constructor(
    prepared: PreparedScript,
    slot: number,
    mode: CallMode,
    nowUs: number | undefined,
    first: JoinedEntry,
    next: OpenCall | undefined,
  ) {
    this.prepared = prepared
    this.script = prepared.script
    this.slot = slot
    this.mode = mode
    this.nowUs = nowUs
    this.entries = arrayOf(first)
    this.next = next
  }
}

/** A call as it is sent: no request joins it any more. */
export interface Call extends Omit<OpenCall, 'entries' | 'singles' | 'isOpen' | 'next'> {
  readonly entries: readonly Entry[]
}

/** The arguments begin with the name of the script and the number of the keys. */
const HEAD = 2

/** The arguments of EVALSHA. */
export function argumentsOf(call: Call): string[] {
  const { prepared, script, mode, nowUs, entries, periodUs } = call
  const { names, hasPeriods } = prepared
  const policyNumbers = hasPeriods
    ? numbersAt(prepared, nowUs ?? (periodUs as number))
    : prepared.policyNumbers
  // No literal: see `arrayOf`. An array that only a major collection frees keeps its texts alive.
  const args = arrayOf(script.sha)
  args.push('')
  const { marks, settles, correction } = CALL_MODES[mode]
  const corrects = correction !== undefined
  const isReserving = reserves(mode)
  // Requests of cost 1, by far the most, need no costs; single ones need nothing at all.
  let isPlain = !corrects && !isReserving
  let areSingle = isPlain
  for (let i = 0; i < entries.length; i += 1) {
    const { request, others } = entries[i] as Entry
    const first = args.length
    keysOf(names, request.target, args)
    for (let at = first, end = args.length; marks && at < end; at += 1) {
      args.push(`${args[at]}:mark`)
    }
    isPlain &&= areOne(request.costs)
    areSingle &&= others.length === 0 && request.count === 1
  }
  args[1] = String(args.length - HEAD)
  const isLast = isPlain && areSingle && mode === 'consume' && nowUs === undefined
  // Of numbers that end the arguments, a last one of 0 may be missing: see plain-loop.ts.
  const most = policyNumbers.length - (isLast && policyNumbers.at(-1) === '0' ? 1 : 0)
  for (let i = 0; i < most; i += 1) args.push(policyNumbers[i] as string)
  if (isLast) return args
  args.push(nowUs === undefined ? '' : String(nowUs), mode)
  if (isPlain && areSingle) return args
  for (const { request, others } of entries) {
    const { costs, count, charged, untilUs, seenUs, lossUs } = request
    args.push(String(count * (1 + others.length)))
    if (isPlain) continue
    for (const cost of costs) args.push(String(cost))
    if (isReserving) {
      const { atLeast, maxWaitMs, keep, aheadMs } = request
      args.push(String(atLeast ?? 1), String(aheadMs ?? maxWaitMs ?? ''))
      for (let i = 0; i < costs.length; i += 1) args.push(String(keep?.[i] ?? 0))
    }
    for (let i = 0; corrects && i < costs.length; i += 1) args.push(String(untilUs?.[i] ?? ''))
    if (corrects && marks) args.push(String(seenUs ?? ''))
    if (mode === 'restore') args.push(String(lossUs ?? ''))
    for (let i = 0; settles && i < costs.length; i += 1) args.push(String(charged?.[i] ?? ''))
  }
  return args
}

/** The numbers of policies at a given time. */
function numbersAt({ policySet }: PreparedScript, nowUs: number): readonly string[] {
  return policySet.policies.flatMap(({ numbers, kernel }) => {
    const texts = numbers.map(String)
    const period = kernel?.periodAt?.(nowUs)
    if (period !== undefined) texts.splice(1, 2, String(period.startMs), String(period.endMs))
    return texts
  })
}

/** The arguments of EVAL, for a server that does not know the script. */
export function withSource({ script, args }: Call): string[] {
  return [script.source, ...args.slice(1)]
}

/**
 * The numbers of a reply. A single number is the server's time, which lies in other calendar
 * periods.
 * @throws {Error} if a proxy or another server has answered something else
 */
export function numbersOf(call: Call, packed: unknown): readonly number[] {
  const { prepared, entries } = call
  const numbers = prepared.repliesInText
    ? numbersInText(String(packed))
    : unpackNumbers(packed as Buffer)
  if (numbers.length === 1 && prepared.hasPeriods) return numbers
  if (numbers.length < 1 + entries.length * (1 + widthOf(call) * prepared.readings.length))
    throw new Error(`a reply of ${numbers.length} numbers`)
  return numbers
}

/** How many numbers a reply has for each policy of a request. */
function widthOf({ prepared, mode }: Pick<Call, 'prepared' | 'mode'>): number {
  return prepared.notifies && tellsUsed(mode) ? 4 : 3
}

/**
 * Hands the results to those who wait. Returns why a request could not be decided, if there was
 * one.
 */
export function answer(call: Call, numbers: readonly number[]): unknown {
  const { entries, prepared, args, sentAtMs } = call
  const { readings } = prepared
  const keys = Number(args[1]) / entries.length
  const width = widthOf(call)
  let foreign: StoreError | undefined
  for (
    let place = 0, at = 1;
    place < entries.length;
    place += 1, at += 1 + width * readings.length
  ) {
    const entry = entries[place] as Entry
    const granted = numbers[at] as number
    if (granted < 0) {
      foreign = foreignKey(args[HEAD + place * keys - granted - 1] as string)
      failEntry(entry, foreign)
      continue
    }
    for (let i = 0; i < readings.length; i += 1) {
      const reading = readings[i] as Reading
      const from = at + width * i
      reading.left = numbers[from + 1] as number
      reading.waitMs = numbers[from + 2] as number
      reading.resetUs = numbers[from + 3] as number
      reading.used = width > 3 ? numbers[from + 4] : undefined
    }
    handOut(entry, granted, readings, numbers[0] as number, sentAtMs)
  }
  return foreign
}

function foreignKey(key: string): StoreError {
  const problem = `the key ${quote(key)} holds something that Weir did not write`
  return new StoreError('WEIR_FOREIGN_KEY', `${problem}; Weir does not change it`)
}

/** Hands an entry's results to those who wait. The readings are those after all grants. */
function handOut(
  { request, first, others }: Entry,
  granted: number,
  readings: readonly Reading[],
  nowUs: number,
  sentAtMs: number,
): void {
  if (others.length === 0) {
    const own = Math.min(granted, request.count)
    first.decided(resultOf(request, own, nowUs, readings, sentAtMs))
    return
  }
  const then = readings.map((each) => ({ ...each }))
  for (let i = 0; i <= others.length; i += 1) {
    if (traitsOf(request.mode).takes)
      rewind(request, readings, i, Math.max(0, granted - 1 - i), then)
    const own = i < granted ? 1 : 0
    const pending = i === 0 ? first : (others[i - 1] as Pending)
    pending.decided(resultOf(request, own, nowUs, then, sentAtMs))
  }
}

/** The readings as they stood when `earlier` requests of cost 1 had been granted, and `later` ones
 *  had not. */
function rewind(
  { target }: Pick<LayerRequest, 'target'>,
  readings: readonly Reading[],
  earlier: number,
  later: number,
  into: readonly Reading[],
): void {
  for (let i = 0; i < readings.length; i += 1) {
    const { used, left, waitMs, resetUs } = readings[i] as Reading
    const then = into[i] as Reading
    // In eighths of a microsecond this is exact. An `until` must not be too early, or a refund
    // would fall short.
    const drained = Math.round(later * (target.policySet.policies[i]?.unitMs ?? 0) * 8_000)
    then.used = used === undefined ? used : used + earlier
    then.left = left + later
    then.waitMs = then.left > 0 ? 0 : waitMs
    then.resetUs = Math.max(0, resetUs - Math.floor(drained / 8))
  }
}

/** Tells those who wait that a call has failed. */
export function fail(call: Call, error: unknown): void {
  for (const entry of call.entries) failEntry(entry, error)
}

function failEntry({ first, others }: Entry, error: unknown): void {
  first.failed(error)
  for (const pending of others) pending.failed(error)
}
