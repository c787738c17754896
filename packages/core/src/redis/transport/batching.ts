// Gathers the requests of one turn of the event loop into calls of the driver, and equal requests
// into one.

import { type CallMode, traitsOf } from '../../algorithms/modes.js'
import { memoized } from '../../base/cache.js'
import type { Clock } from '../../base/clock.js'
import { idWithKeep } from '../../base/key-text.js'
import type { Time } from '../../base/time.js'
import type { Layer, LayerRequest, Pending } from '../../layer.js'
import { areOne } from '../../request.js'
import type { PolicySet } from '../../store.js'
import { type Call, callModeOf, JoinedEntry, OpenCall, prepareScript } from './call.js'
import type { KeyFormat } from './keys.js'
import type { Nodes } from './nodes.js'
import type { ScriptForm } from './script-forms.js'

export interface BatchingOptions {
  readonly format: KeyFormat
  readonly nodes: Pick<Nodes, 'isIdle' | 'slotOf' | 'slots'>
  readonly time: Time
  /** The store's time, where it is injected. */
  readonly clock: Clock | undefined
  /** The form of all calls' scripts. */
  readonly form?: ScriptForm
}

const resolved = Promise.resolve()

/**
 * Gathers requests until the poll phase is over, so that a lone one still goes out in the same
 * turn. If nothing is under way to the node and the last call there had one request, this one is
 * likely to be alone as well: it is sent in a microtask, together with the other requests of the
 * same tick. `flush` sends what was gathered so far.
 */
export function batching(
  send: (calls: readonly Call[]) => void,
  options: BatchingOptions,
): Required<Pick<Layer, 'ask' | 'join'>> & { flush(): void } {
  const { format, nodes, time, clock, form } = options
  const preparedOf = memoized((policySet: PolicySet) => prepareScript(format, policySet, form))
  /** By slot, the first open call. */
  const openOf = new Array<OpenCall | undefined>(nodes.slots)
  /** The calls opened in this turn. */
  let opened: OpenCall[] = []

  /** A request that was found to have no equal, so that `ask` need not look again. */
  let unequal: LayerRequest | undefined

  function join(request: LayerRequest): Pending | undefined {
    const call = openFor(request)
    // Where the clock is injected, each request has an instant of its own.
    if (call === undefined || call.nowUs !== undefined || call.mode !== callModeOf(request))
      return undefined
    const single = singleOf(call, request)
    const equal = single === undefined ? undefined : equalIn(call, single)
    if (equal === undefined) unequal = request
    else if (areAlikeWithoutStore(equal.request, request)) {
      equal.join(equal.first)
      return equal.first
    }
    return undefined
  }

  function ask(request: LayerRequest, pending: Pending): void {
    const mode = callModeOf(request)
    let nowUs: number | undefined
    try {
      nowUs = clock?.nowUs()
    } catch (error) {
      // The user's clock threw.
      pending.failed(error)
      return
    }
    const call = openFor(request)
    if (call !== undefined && call.mode === mode && call.nowUs === nowUs) {
      const single = singleOf(call, request)
      const isUnequal = single === undefined || request === unequal
      const equal = isUnequal ? undefined : equalIn(call, single)
      if (equal !== undefined) {
        equal.join(pending)
        return
      }
      unequal = undefined
      const { entries, script } = call
      if (entries.length < script.mostRequests) {
        add(call, new JoinedEntry(request, pending), single)
        if (entries.length === script.mostRequests) close(call)
        return
      }
    }
    // Sent first, to keep the order of a limiter's requests.
    if (call !== undefined) close(call)
    open(request, pending, mode, nowUs)
  }

  /** The open call with requests of the same policies and slot. */
  function openFor({ target }: LayerRequest): OpenCall | undefined {
    const prepared = preparedOf(target.policySet)
    let call = openOf[nodes.slotOf(target)]
    while (call !== undefined && call.prepared !== prepared) call = call.next
    return call
  }

  function open(
    request: LayerRequest,
    pending: Pending,
    mode: CallMode,
    nowUs: number | undefined,
  ): void {
    const { target } = request
    const slot = nodes.slotOf(target)
    const first = new JoinedEntry(request, pending)
    const prepared = preparedOf(target.policySet)
    const call = new OpenCall(prepared, slot, mode, nowUs, first, openOf[slot])
    if (opened.length === 0) {
      if (nodes.isIdle(slot)) void resolved.then(flush)
      else time.soon(flush)
    }
    openOf[slot] = call
    opened.push(call)
  }

  function close(call: OpenCall): void {
    const { slot, next } = call
    let before = openOf[slot]
    if (before === call) openOf[slot] = next
    else {
      while (before !== undefined && before.next !== call) before = before.next
      if (before !== undefined) before.next = next
    }
    call.isOpen = false
    send([call])
  }

  function flush(): void {
    const calls = opened
    opened = []
    for (const { slot } of calls) openOf[slot] = undefined
    const open = calls.filter(({ isOpen }) => isOpen)
    for (const call of open) call.isOpen = false
    if (open.length > 0) send(open)
  }

  return { ask, join, flush }
}

/** The entry of a call that an equal request may join. */
function equalIn(call: OpenCall, single: string): JoinedEntry | undefined {
  call.singles ??= singlesOf(call.entries)
  return call.singles.get(single)
}

/** What a request has in common with those that it may join; undefined: it joins none. */
function singleOf({ prepared }: OpenCall, request: LayerRequest): string | undefined {
  return prepared.merges && isSingle(request) ? idOfSingle(request) : undefined
}

/** @param single what it has in common with equal ones; undefined: none may join it */
function add({ entries, singles }: OpenCall, entry: JoinedEntry, single: string | undefined): void {
  entries.push(entry)
  if (singles !== undefined) note(singles, entry, single)
}

function singlesOf(entries: readonly JoinedEntry[]): Map<string, JoinedEntry> {
  const singles = new Map<string, JoinedEntry>()
  for (const entry of entries) {
    const { request } = entry
    note(singles, entry, isSingle(request) ? idOfSingle(request) : undefined)
  }
  return singles
}

/**
 * From now on, equal requests join this entry. If none may join it, because it has another cost or
 * asks for several units, later requests join no earlier entry of its key either: the store would
 * decide them before this one, which was asked first. If the reply to this one were then late, this
 * process would decide it without knowing of the others.
 */
function note(
  singles: Map<string, JoinedEntry>,
  entry: JoinedEntry,
  single: string | undefined,
): void {
  if (single === undefined) singles.delete(idOfSingle(entry.request))
  else singles.set(single, entry)
}

/**
 * Whether equal requests may be decided as one. Only at a cost of 1 does each result follow from
 * the last one: see `rewind` in call.ts.
 */
function isSingle(request: LayerRequest): boolean {
  const { mode, target, untilUs, costs, count, atLeast, keep, aheadMs } = request
  const { merges, changes } = traitsOf(mode)
  if (!merges || count !== 1 || atLeast !== undefined || aheadMs !== undefined) return false
  // With a `keep`, a peek's result tells more than how many are granted.
  if (keep !== undefined && !changes) return false
  return target.policyKeys === undefined && untilUs === undefined && areOne(costs)
}

/** Whether a store that fails, or is late, means the same to both. */
function areAlikeWithoutStore(one: LayerRequest, other: LayerRequest): boolean {
  return one.deadlineAtMs === other.deadlineAtMs && one.isForStore === other.isForStore
}

/** What equal requests of a call have in common. The single requests of a call all have a `keep`,
 *  or none has. */
function idOfSingle({ target, keep }: LayerRequest): string {
  return idWithKeep(target.key, keep)
}
