// The faults that sabotage.mjs puts into the product, one after the other.

const RESILIENCE = 'layers/resilience'

/**
 * What is wrong; the file in packages/core/src; what stands there, and what takes its place. If few
 * stories come by it: the scenario of those that are simulated.
 */
export const FAULTS = [
  [
    'what was admitted in an outage is not counted afterwards',
    `${RESILIENCE}/recovery.ts`,
    '      failure = await this.#failureOf(request)\n      if',
    '      failure = undefined\n      if',
  ],
  [
    'what Redis has lost is not restored',
    `${RESILIENCE}/resilience.ts`,
    "    this.#send(restoring(target, before), restored, 'self')",
    '    void restored',
  ],
  [
    'what Redis has lost is restored by half',
    `${RESILIENCE}/last-seen.ts`,
    "    Math.max(0, limit - (remaining[i] as number)),\n  )\n  return { mode: 'restore'",
    "    Math.floor(Math.max(0, limit - (remaining[i] as number)) / 2),\n  )\n  return { mode: 'restore'",
  ],
  [
    'an outage begins with a new budget',
    `${RESILIENCE}/fallback.ts`,
    '    if (seen !== undefined) this.#carryOver(request.target, local, seen)\n',
    '',
  ],
  [
    'the part of a limit is the whole of it',
    `${RESILIENCE}/peers.ts`,
    '  const whole = Math.floor(units / count)\n',
    '  if (count > 0) return units\n  const whole = Math.floor(units / count)\n',
  ],
  [
    'a decision may take twice as long',
    `${RESILIENCE}/deadlines.ts`,
    '    this.#afterMs = afterMs\n',
    '    this.#afterMs = 2 * afterMs\n',
  ],
  [
    'the quota is no ceiling while a node is half-open',
    `${RESILIENCE}/resilience.ts`,
    "    else if (guard.breaker.state === 'half-open') this.#sendUnderCeiling(request, pending, guard)\n",
    '',
  ],
  [
    'a decision is counted twice',
    'limiter/pending-decision.ts',
    '  countDecision(request, result, binding, place, decision.reason)\n',
    '  countDecision(request, result, binding, place, decision.reason)\n  countDecision(request, result, binding, place, decision.reason)\n',
  ],
  [
    'a fixed window overlooks a unit',
    'algorithms/fixed-window/kernel.ts',
    '  used: ({ count }) => count,',
    '  used: ({ count }) => Math.max(0, count - 1),',
  ],
  [
    'the driver grants one unit too many',
    'algorithms/driver.ts',
    '    if (!judges || left >= granted * cost) continue',
    '    if (!judges || left + 1 >= granted * cost) continue',
  ],
  [
    'of equal requests of a call all are granted if one is',
    'redis/transport/call.ts',
    '    const own = i < granted ? 1 : 0',
    '    const own = granted > 0 ? 1 : 0',
  ],
  [
    'what Redis denies is told as granted',
    'redis/transport/call.ts',
    '    const own = Math.min(granted, request.count)\n    first.decided',
    '    const own = request.count\n    first.decided',
  ],
  [
    'a log charges a unit less where several are taken',
    'algorithms/sliding-log/kernel.ts',
    '  const added = Math.min(units, MAX_UNITS - usedOf(scratch))\n',
    '  const added = Math.min(units > 1 ? units - 1 : units, MAX_UNITS - usedOf(scratch))\n',
  ],
  [
    'what is last seen is never remembered',
    `${RESILIENCE}/last-seen.ts`,
    '    if (!isThere) this.#add(target, nowUs)\n    this.#write(result)\n    return lost',
    '    return lost',
  ],
  [
    'a request that failed is decided, and its failure told as well',
    `${RESILIENCE}/guarded-request.ts`,
    '    if (this.isDone) return\n    this.isDone = true\n    this.sent.failed(this, error)',
    '    this.isDone = true\n    this.sent.failed(this, error)',
  ],
  [
    'a breaker closes at once',
    `${RESILIENCE}/breaker.ts`,
    'export const RETURN_MS = 5_000',
    'export const RETURN_MS = 1',
  ],
  [
    'a decision is refunded as often as one asks',
    'limiter/receipts.ts',
    '  if (charge === undefined || charge.spent) return\n',
    '  if (charge === undefined) return\n',
  ],
  [
    'a decision is settled as often as one asks',
    'limiter/receipts.ts',
    '  if (charge.spent) return\n',
    '',
  ],
  [
    'a refund of a part gives all back',
    'limiter/receipts.ts',
    '  const costs = cost === undefined ? request.costs : refundedCosts(request, cost)\n',
    '  if (cost !== undefined) refundedCosts(request, cost)\n  const { costs } = request\n',
  ],
  [
    'a penalty is not counted after an outage',
    `${RESILIENCE}/ledger.ts`,
    '    if (granted === 0 || !changes) return\n',
    "    if (granted === 0 || !changes || mode === 'penalty') return\n",
  ],
  [
    'of several policies only the first is judged',
    'algorithms/driver.ts',
    '    if (!judges || left >= granted * cost) continue\n',
    '    if (!judges || i > 0 || left >= granted * cost) continue\n',
  ],
  [
    'a deny cache does not hear of resets and refunds',
    'layers/deny-cache.ts',
    '    if (this.#denials.isEmpty) return\n',
    '    if (id.length > 0) return\n',
  ],
  [
    'a deny cache lives too long',
    'layers/deny-cache.ts',
    'const MAX_AGE_US = 1_000_000',
    'const MAX_AGE_US = 3_000_000',
  ],
  [
    'what was charged before a reset is given back',
    'algorithms/driver.ts',
    '  if (forgottenUs >= seenUs) return\n',
    '',
  ],
  [
    'a turn comes too early',
    'limiter/turn-queue.ts',
    '      if (dueMs > this.#time.nowMs()) {\n',
    '      if (dueMs / 2 > this.#time.nowMs() / 2 + 100) {\n',
  ],
  [
    'a waiter overtakes those before it',
    'limiter/turn-queue.ts',
    '        this.#answered(waiter, place, result)\n',
    '        this.#answered(waiter, -place, result)\n',
  ],
  [
    'of those who wait for a window the last one passes first',
    'limiter/retry-queue.ts',
    '    this.#waiters.push(waiter)\n',
    '    this.#waiters.unshift(waiter)\n',
  ],
  [
    'a lease outlives its hold',
    'layers/leases.ts',
    '  const { units, holdMs, time, clock, mayTake } = options\n',
    '  const { units, time, clock, mayTake } = options\n  const holdMs = 3 * options.holdMs\n',
  ],
  [
    'a lease that ends gives back what was spent of it',
    'layers/leases.ts',
    '    const back = isSpentLater ? granted : this.left\n',
    '    const back = granted\n    if (isSpentLater) all.pop()\n',
  ],
  [
    'a process does not believe its heartbeat',
    'redis/heartbeat.ts',
    '    this.peers = heard\n',
    '',
  ],
  [
    "what has a policy key is counted under the request's key",
    'redis/transport/keys.ts',
    '    const own = policyKeys?.[i]\n',
    '    const own = policyKeys?.[keys.length + i + 1]\n',
  ],
  [
    'a class leaves nothing to others',
    'algorithms/driver.ts',
    '    const left = Math.max(0, scratch.limit - kernel.used(scratch) - kept)\n',
    '    const left = Math.max(0, scratch.limit - kernel.used(scratch))\n',
  ],
  [
    'a fixed window begins anew after the clock has been set back',
    'algorithms/fixed-window/kernel.ts',
    '    if (scratch.dirty) scratch.endMs = newEndMs\n',
    '    if (scratch.dirty) Object.assign(scratch, { endMs: newEndMs, count: 0 })\n',
  ],
  [
    'a live change is applied late',
    'live/follower.ts',
    '      this.#pending.push({ change, dueMs: nowMs + Math.min(waitMs, 2 * LEAD_MS) })\n',
    '      this.#pending.push({ change, dueMs: nowMs + Math.min(waitMs, 2 * LEAD_MS) + 20 })\n',
  ],
  [
    'a live change holds when it is heard',
    'live/follower.ts',
    '      this.#pending.push({ change, dueMs: nowMs + Math.min(waitMs, 2 * LEAD_MS) })\n',
    '      this.#pending.push({ change, dueMs: nowMs + Math.min(waitMs, 0) })\n',
  ],
  [
    'another limit of a policy is another counter',
    'redis/transport/keys.ts',
    '    const counter = encodePart(counterOf(policy))\n',
    '    const counter = encodePart(counterOf(policy) + policy.limit)\n',
  ],
  [
    'the nodes of a Cluster share a breaker',
    `${RESILIENCE}/recovery.ts`,
    '  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {\n',
    '  readonly guardOf: (node: BackendNode) => Guard = memoized((node) => {\n    if (this.#guards[0] !== undefined) return this.#guards[0]\n',
  ],
  [
    'no quota is a ceiling where a replica takes over',
    `${RESILIENCE}/recovery.ts`,
    '    guard.breaker.returned(time.nowMs())\n',
    '',
    'cluster, replica',
  ],
  [
    'requests of a call whose keys are at two nodes are not asked one by one',
    'redis/transport/exchange.ts',
    '    if (mustSplit(error) && call.entries.length > 1) {',
    '    if (mustSplit(error) && call.entries.length > 100) {',
    'cluster, resharding',
  ],
  [
    'of requests that are asked one by one the first is forgotten',
    'redis/transport/exchange.ts',
    '      this.#options.send(call.entries.map((entry) => ({ ...call, entries: [entry] })))',
    '      this.#options.send(call.entries.slice(1).map((entry) => ({ ...call, entries: [entry] })))',
    'cluster, resharding',
  ],
  [
    'requests share a call whatever the slots of their keys are',
    'redis/transport/batching.ts',
    '    const slot = nodes.slotOf(target)\n',
    '    const slot = Math.min(nodes.slotOf(target), 1)\n',
  ],
]
