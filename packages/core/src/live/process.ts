// The live policies of one process: kept in step with the store, and reported to it. Each problem
// is reported once.

import type { Policy } from '../algorithms/policy.js'
import { quote, StoreError } from '../base/errors.js'
import { notify, warnOnce } from '../base/warnings.js'
import { LEAD_MS, type NamedSettings } from './changes.js'
import { Follower } from './follower.js'
import { Held } from './held.js'
import { processOf, Reporting, reporterOf } from './reports.js'
import type { LivePolicies, LivePoliciesOptions, LiveProcess, LiveStatus } from './types.js'

export interface LiveInProcess extends Pick<LivePolicies<string>, 'status' | 'refresh' | 'close'> {
  readonly held: Held
  /** What this process reports about itself. */
  self(): LiveProcess
}

export function liveInProcess(
  at: NamedSettings,
  defaults: ReadonlyMap<string, Policy>,
  { onChange, onFailure }: Pick<LivePoliciesOptions, 'onChange' | 'onFailure'>,
): LiveInProcess {
  const { name, time } = at
  const tell = troubles(name, onFailure)
  const held = new Held(defaults, tell.refused)
  const follower = new Follower({
    ...at,
    prepare: (fields) => held.prepare(fields),
    loaded: (fields) => held.load(fields),
    changed(change, lateMs) {
      const applied = held.apply(change)
      if (applied !== undefined) notify('onChange', name, () => onChange?.({ ...applied, lateMs }))
    },
    failed: tell.unread,
    lost: tell.lost,
    asked: () => reporting.report(),
  })
  const reportOf = reporterOf(defaults)
  const textOf = (): string => reportOf(status(), held.refused)
  const reporting = new Reporting({
    ...at,
    textOf,
    failed(error) {
      // If the store cannot be read either, there was a warning already.
      if (!follower.isFailing) tell.unreported(error)
    },
  })

  function status(): LiveStatus {
    const { version, pending, heardAtMs, currentAtMs = Number.NEGATIVE_INFINITY } = follower
    const nowMs = time.nowMs()
    return {
      name,
      version,
      pending,
      overrides: held.overrideCount,
      refused: held.refused.size,
      heardMsAgo: heardAtMs === undefined ? undefined : nowMs - heardAtMs,
      isCurrent: nowMs - currentAtMs <= LEAD_MS,
    }
  }

  return {
    held,
    status,
    self: () => processOf({ process: reporting.mark, text: textOf() }) as LiveProcess,
    refresh: () => follower.refresh(),
    close() {
      follower.close()
      reporting.close()
    },
  }
}

const LOST = {
  restored: 'this process wrote them back, and what was set since was kept',
  replaced: 'too many were set since to write them back',
}

/** Reports each problem by a warning and by `onFailure`. */
function troubles(name: string, onFailure: LivePoliciesOptions['onFailure']) {
  function failed(error: unknown): void {
    notify('onFailure', name, () => onFailure?.(error as Error))
  }

  return {
    refused(field: string, why: string, error: unknown): void {
      const what = `a stored policy of "${name}" is refused, ${quote(field)}: ${why}`
      warnOnce('WEIR_SETTING_REFUSED', name, `${what}; the one before it still applies`)
      failed(error)
    },
    unread(error: unknown): void {
      const why = error instanceof StoreError ? error.message : quote(error)
      const what = `the policies of "${name}" cannot be read from the store: ${why}`
      const then = 'what was read last applies, or the defaults'
      warnOnce('WEIR_SETTINGS_UNREAD', name, `${what}; ${then}`)
      failed(error)
    },
    lost(how: keyof typeof LOST): void {
      const what = `the store has lost the policies of "${name}"; ${LOST[how]}`
      warnOnce('WEIR_SETTINGS_LOST', `${name} ${how}`, what)
      failed(new Error(what))
    },
    unreported(error: unknown): void {
      const why = error instanceof StoreError ? error.message : quote(error)
      const what = `this process cannot report its policies of "${name}": ${why}`
      warnOnce('WEIR_SETTINGS_UNREPORTED', name, `${what}; they still apply`)
    },
  }
}
