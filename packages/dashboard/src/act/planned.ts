// An action, read and checked before it is done, so that it can be noted.

import { type Duration, type Policy, policyFrom } from '@weir/core'
import { kernelOf } from '@weir/core/internal'
import type { Collector } from '../collect/collector.js'
import type { Action } from '../protocol.js'
import type { ShownLimiter, ShownLive } from '../watched.js'
import { type Fields, fieldsOf } from './fields.js'
import { keyOf, limiterOf, liveOf } from './find.js'
import { invalidRequest, Refused } from './problem.js'

/** An action that is ready. */
export interface Planned {
  /** What the action does, in words, with the key as it is shown. */
  readonly what: string
  /** The whole key that the action is about. */
  readonly key: string | undefined
  /** Does the action. Resolves to anything else to say about it; rejects if it failed. */
  readonly run: () => Promise<string | undefined>
  /** Checks the action as far as that is possible without doing it, and says whether a new counter
   *  would begin. Undefined: there is nothing to check. */
  readonly preview?: () => Promise<boolean>
}

type Kind = Action['kind']

const KINDS: readonly Kind[] = [
  ...(['set', 'unset', 'override', 'remove', 'rollback'] as const),
  ...(['reset', 'block', 'unblock', 'enable', 'disable'] as const),
]

/** @throws {Refused} for an invalid or unconfirmed action */
export function planned(collector: Collector, body: unknown): Planned {
  const fields = fieldsOf(body)
  const kind = fields.oneOf('kind', KINDS)
  if (kind === 'enable' || kind === 'disable') return toggle(collector, fields, kind === 'enable')
  if (kind === 'reset' || kind === 'block' || kind === 'unblock')
    return ofKey(collector, fields, kind)
  return ofLive(collector, fields, kind)
}

/** @throws {Refused} 409 */
function confirm(fields: Fields, name: string): void {
  if (fields.name('confirm') === name) return
  throw new Refused(409, 'not-confirmed', 'confirm should repeat the name of what is changed')
}

function toggle(collector: Collector, fields: Fields, isOn: boolean): Planned {
  const id = fields.name('limiter')
  const limiter = limiterOf(collector, id)
  confirm(fields, id)
  const what = `${isOn ? 'switch on' : 'switch off'} ${id}`
  return { what, key: undefined, run: () => toggled(collector, limiter, isOn) }
}

/** Switches a limiter: in this process at once, whatever the store does. */
async function toggled(
  collector: Collector,
  limiter: ShownLimiter,
  isOn: boolean,
): Promise<string | undefined> {
  const { fleet } = collector
  collector.switch(limiter.store, limiter.name, isOn)
  const switches = fleet.switchesOf(limiter.store)
  if (switches === undefined) return 'in this process only: its store does not tell others'
  try {
    await switches.write(limiter.name, isOn)
    return undefined
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    // Only Weir's own messages are known to hold no address.
    const why = String(code).startsWith('WEIR_') ? message : 'the store failed'
    throw Object.assign(
      new Error(`done in this process only, because others could not be told: ${why}`),
      {
        code: 'store-failed',
      },
    )
  }
}

function ofKey(collector: Collector, fields: Fields, kind: 'reset' | 'block' | 'unblock'): Planned {
  const id = fields.name('limiter')
  const limiter = limiterOf(collector, id)
  confirm(fields, id)
  const key = keyOf(collector, limiter, fields)
  const duration = kind === 'block' ? fields.name('duration') : ''
  const what = `${kind} ${collector.show(key)} of ${id}${duration && ` for ${duration}`}`
  const deeds = {
    reset: () => limiter.reset(key),
    block: () => limiter.block(key, duration as Duration),
    unblock: () => limiter.unblock(key),
  }
  return {
    what,
    key,
    run: async () => {
      await deeds[kind]()
      return undefined
    },
  }
}

type LiveKind = 'set' | 'unset' | 'override' | 'remove' | 'rollback'

function ofLive(collector: Collector, fields: Fields, kind: LiveKind): Planned {
  const id = fields.name('live')
  const live = liveOf(collector, id)
  const plan = liveActions[kind](collector, fields, live, id)
  return {
    ...plan,
    run: async () => {
      try {
        return (await plan.run()) ? undefined : 'it was so already'
      } finally {
        collector.live.forget(live)
      }
    },
  }
}

/** The policy as it was sent. It is checked only when it is set, so that a refused one is noted. */
function shownPolicy(policy: object): string {
  try {
    return JSON.stringify(policy).slice(0, 500)
  } catch {
    // It is nested too deeply.
    return 'what cannot be shown'
  }
}

/** `run` resolves to whether anything changed. */
type LivePlan = Required<Omit<Planned, 'run'>> & { readonly run: () => Promise<boolean> }

/** Whether units that were used under `before` do not count under `after`. */
function isNewCounter(before: readonly Policy[], after: readonly Policy[]): boolean {
  const counterOf = (policy: Policy): string => `${kernelOf(policy)?.id}-${policy.timeScale}`
  return !before.some((one) => after.some((two) => counterOf(one) === counterOf(two)))
}

/** @throws {TypeError} WEIR_INVALID_POLICY, as `set` and `override` throw it */
function checkLike(policy: Policy, all: readonly Policy[]): void {
  const [like] = all
  const kernel = kernelOf(policy)
  const isRight = all.some((one) => {
    const own = kernelOf(one)
    const mayDiffer = own === undefined || kernel === undefined
    return one.name === policy.name && (mayDiffer || own === kernel)
  })
  if (isRight) return
  const right = `give the name ${like?.name} and the algorithm ${like?.algorithm}`
  const error = new TypeError(`policy ${policy.name} is a ${policy.algorithm}; ${right}`)
  throw Object.assign(error, { code: 'WEIR_INVALID_POLICY' })
}

const liveActions: Readonly<
  Record<LiveKind, (collector: Collector, fields: Fields, live: ShownLive, id: string) => LivePlan>
> = {
  set(_, fields, live, id) {
    const name = fields.name('name')
    confirm(fields, name)
    const policy = fields.object('policy')
    const what = `set ${name} of ${id} to ${shownPolicy(policy)}`
    const run = async (): Promise<boolean> => (await live.set(name, policyFrom(policy))).isChanged
    const preview = async (): Promise<boolean> => {
      const [next, now] = [policyFrom(policy), live.for(name)]
      checkLike(next, [now])
      return isNewCounter([now], [next])
    }
    return { what, key: undefined, run, preview }
  },
  unset(collector, fields, live, id) {
    const name = fields.name('name')
    confirm(fields, name)
    const what = `set ${name} of ${id} back to its default`
    const run = async (): Promise<boolean> => (await live.unset(name)).isChanged
    const preview = async (): Promise<boolean> => {
      await collector.live.loaded(live)
      const standard = collector.live.defaultOf(live, name)
      return standard !== undefined && isNewCounter([live.for(name)], [standard])
    }
    return { what, key: undefined, run, preview }
  },
  override(collector, fields, live, id) {
    confirm(fields, id)
    const { show } = collector
    const given = fields.key()
    const isPrefix = fields.flag('isPrefix')
    if (isPrefix && 'handle' in given) throw invalidRequest('a prefix has no handle; give the key')
    const key =
      'key' in given
        ? given.key
        : keyOf(collector, limiterOf(collector, fields.name('limiter')), fields)
    const policy = fields.object('policy')
    const whose = `${isPrefix ? 'prefix ' : ''}${show(key)}`
    const what = `override ${whose} of ${id} by ${shownPolicy(policy)}`
    const of = isPrefix ? { prefix: key } : key
    const run = async (): Promise<boolean> => {
      return (await live.override(of, policyFrom(policy))).isChanged
    }
    const preview = async (): Promise<boolean> => {
      const next = policyFrom(policy)
      const now = await collector.live.policiesOf(live, isPrefix ? undefined : key)
      checkLike(next, now)
      const replaced = now.filter(({ name }) => name === next.name)
      return isNewCounter(replaced, [next])
    }
    return { what, key, run, preview }
  },
  remove(collector, fields, live, id) {
    confirm(fields, id)
    const override = collector.live.overrideOf(live, fields.name('handle'))
    if (override === undefined) throw invalidRequest('there is no override with that handle now')
    const { kind, key, policy } = override
    const what = `remove the override of ${kind} ${collector.show(key)} of ${id}`
    const of = kind === 'prefix' ? { prefix: key } : key
    const run = async (): Promise<boolean> => {
      if ((await live.remove(of, policy.name)).isChanged) return true
      throw new Error('a store with hashKeys finds an override by its whole key alone; roll back')
    }
    const preview = async (): Promise<boolean> => {
      const all = await collector.live.policiesOf(live)
      const after = all.filter(({ name }) => name === policy.name)
      return isNewCounter([policy], after)
    }
    return { what, key, run, preview }
  },
  rollback(_, fields, live, id) {
    confirm(fields, id)
    const version = fields.wholeNumber('version')
    const run = async (): Promise<boolean> => {
      return (await live.rollback(version)).some(({ isChanged }) => isChanged)
    }
    const preview = async (): Promise<boolean> => {
      const changes = await live.history()
      return changes.some((each) => each.version > version && each.isNewCounter)
    }
    return { what: `roll ${id} back to version ${version}`, key: undefined, run, preview }
  },
}
