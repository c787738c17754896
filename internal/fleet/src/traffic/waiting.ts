// Processes wait for a turn, and some leave before it comes.

import type { WaitDecision } from '../../../../packages/core/src/index.js'
import type { Fleet } from '../fleet/fleet.js'
import { DEADLINE_MS, type Member, type Waiter } from '../fleet/member.js'
import { askFor } from './limiter-call.js'

const LONGEST_MS = 2_000

export function wait(fleet: Fleet, member: Member, key: string): void {
  const { host, limiter, waits } = member
  const { random, time } = host
  const { policies } = fleet.plan
  const least = Math.min(...policies.map(({ limit }) => limit))
  const cost = random.chance(fleet.options.weighted / 100)
    ? random.whole(1, Math.min(least, fleet.options.mostUnits))
    : 1
  const timeoutMs = random.whole(1, LONGEST_MS)
  const leaves = random.chance(0.2) ? new AbortController() : undefined
  const before = waits.get(key) ?? []
  waits.set(key, before)
  const self: Waiter = { isOvertaken: false }
  // A wait for anything but a turn of a bucket takes one more call, and one for each change of the
  // cost.
  const isReserved = policies.length === 1 && policies[0]?.kernel?.traits.drains === true
  const calls = isReserved ? 1 : 2 + before.length
  before.push(self)
  if (leaves !== undefined)
    host.run(random.whole(0, 1_000 * LONGEST_MS), () => leaves.abort('it leaves'))
  const askedMs = time.nowMs()
  const costs = policies.map(() => cost)
  const none = policies.map(() => 0)
  askFor<WaitDecision>(fleet, member, {
    key,
    costs,
    mostMs: timeoutMs + calls * DEADLINE_MS,
    call: () => limiter.wait(key, { cost, timeout: timeoutMs, signal: leaves?.signal }),
    granted({ allowed, source, waitedMs }) {
      // A request for free units may overtake a call that is sent again since its script was
      // missing.
      const hasWaited = !isReserved || waitedMs > DEADLINE_MS
      leave(before, self, allowed && source === 'store' && hasWaited)
      fleet.must(!self.isOvertaken, `${host.name} ${key}: a turn overtakes another one`)
      const isSoFar = waitedMs <= time.nowMs() - askedMs + 1
      fleet.must(isSoFar, `${host.name} ${key} waited for ${waitedMs} ms, and less has passed`)
      return allowed ? costs : none
    },
    failed(error) {
      leave(before, self, false)
      const isClosed = (error as { readonly code?: string }).code === 'WEIR_CLOSED'
      const isRight = error === 'it leaves' || (isClosed && member.hasLeft)
      fleet.must(isRight, `${host.name} rejected a wait: ${error}`)
    },
  })
}

/**
 * A waiter is answered. If Redis gave it its turn, no earlier waiter may still get one from Redis.
 * (A waiter whose call fails is decided later than those that find the breaker open.)
 */
function leave(waiters: Waiter[], self: Waiter, isTurn: boolean): void {
  const place = waiters.indexOf(self)
  waiters.splice(place, 1)
  if (isTurn) for (const earlier of waiters.slice(0, place)) earlier.isOvertaken = true
  else self.isOvertaken = false
}
