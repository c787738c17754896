// Processes hold slots while they work: for a short time, or for longer than a slot lasts. Some
// wait for a slot, and some release theirs twice.

import type { AcquireOptions, Held } from '../../../../packages/core/src/index.js'
import { checkInProgress, checkNotAborted, LONGEST_WORK } from '../checks/of-slots.js'
import type { Fleet } from '../fleet/fleet.js'
import { DEADLINE_MS, type Member } from '../fleet/member.js'
import type { SlotCounter, Work } from '../fleet/slots.js'
import { keepDoing } from './keep-doing.js'
import { ask } from './limiter-call.js'

const LONGEST_WAIT_MS = 1_500
/** The mean of what `workMs` draws, in units of the time to hold. */
const MEAN_WORK = 1.125

/** Makes all processes work, including those that start later. Returns a function that ends it. */
export function keepHolding(fleet: Fleet): () => void {
  const { slots } = fleet
  if (slots === undefined) return () => {}
  const { slotMs, slotDemand, slots: limit, processes } = fleet.options
  const keys = [...slots.ofKey.keys()]
  const gapUs = (MEAN_WORK * slotMs * 1_000 * processes) / (slotDemand * limit * keys.length)
  fleet.isHolding = true
  const stop = keepDoing(fleet, Math.ceil(gapUs), (member) => {
    const { random } = member.host
    const key = random.pick(keys)
    if (random.chance(fleet.options.reset / 100)) reset(fleet, member, key)
    else hold(fleet, member, key, slots.ofKey.get(key) as readonly SlotCounter[])
  })
  return () => {
    fleet.isHolding = false
    stop()
  }
}

function hold(fleet: Fleet, member: Member, key: string, counters: readonly SlotCounter[]): void {
  const { host } = member
  const { random } = host
  const timeout = random.chance(fleet.options.wait / 100) ? random.whole(1, LONGEST_WAIT_MS) : 0
  const onExpiry = random.chance(0.2) ? 'abort' : 'renew'
  const options: AcquireOptions = { timeout, onExpiry }
  const resets = counters.map((counter) => counter.resets)
  for (const counter of counters) counter.asked(member)
  const done = (): void => {
    for (const counter of counters) counter.answered(member)
  }
  ask(fleet, member, {
    // One attempt at the end, and one each time that it may be its turn.
    mostMs: timeout === 0 ? DEADLINE_MS : timeout + 3 * DEADLINE_MS,
    call: () => member.slots?.acquire(key, options) as Promise<Held>,
    answered(held) {
      done()
      fleet.tell(`${host.name} ${key} ${held.allowed ? 'holds' : 'may not hold'} by ${held.source}`)
      const isRight = held.source === 'store' || held.source === 'local'
      fleet.must(isRight, `slots of ${key} were decided by ${held.source}`)
      if (!held.allowed) return
      // A counter that was reset in the meantime may have been taken before that.
      const isReset = (counter: SlotCounter, i: number) => counter.resets !== resets[i]
      const perhaps = counters.filter(isReset)
      work(fleet, member, key, {
        held,
        perhaps,
        counters: counters.filter((counter) => !perhaps.includes(counter)),
      })
    },
    failed(error) {
      done()
      const isClosed = (error as { readonly code?: string }).code === 'WEIR_CLOSED'
      fleet.must(isClosed && member.hasLeft, `${host.name} could not acquire: ${error}`)
    },
  })
}

/** Works for a while. */
function work(
  fleet: Fleet,
  member: Member,
  key: string,
  taken: Pick<Work, 'held' | 'counters' | 'perhaps'>,
): void {
  const { host, slots: limiter } = member
  const { held, counters } = taken
  let isOver = false
  const end = (): void => {
    if (isOver) return
    isOver = true
    fleet.slots?.ended(own)
    fleet.tell(`${host.name} ${key} ends its work`)
    const ignore = (): void => {}
    if (host.random.chance(0.3)) limiter?.release(held).catch(ignore)
    held.release().catch(ignore)
    if (host.random.chance(0.1)) held.release().catch(ignore)
  }
  const own: Work = { ...taken, member, end }
  fleet.slots?.began(own)
  for (const counter of counters) checkInProgress(fleet, counter)
  held.signal.addEventListener('abort', () => {
    if (isOver || host.isDead) return
    checkNotAborted(fleet, own)
    end()
  })
  host.run(1_000 * workMs(fleet, member), end)
}

function workMs({ options: { slotMs } }: Fleet, { host: { random } }: Member): number {
  const most = random.pick([0.5, 0.5, 0.5, 3, 3, LONGEST_WORK])
  return random.whole(1, most * slotMs)
}

function reset(fleet: Fleet, member: Member, key: string): void {
  const { host } = member
  fleet.tell(`${host.name} ${key} resets its slots`)
  ask(fleet, member, {
    call: () => member.slots?.reset(key) as Promise<void>,
    answered() {},
    failed: (error) => fleet.must(fleet.terms.isAway, `${host.name} rejected a reset: ${error}`),
  })
}
