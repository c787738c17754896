// Shows decisions to observers: a limiter's `onDecision`, and the channel `weir:decision`. They get
// frozen copies, so they cannot change the caller's decision.

import { decisionChannel } from '../base/channels.js'
import { whenKnown } from '../base/maybe-async.js'
import { notify } from '../base/warnings.js'
import type { ConsumeRequest, Mode } from '../store.js'
import { copyOf, type Decision } from './decision.js'
import type { LimiterParts } from './parts.js'

/** Publishes a decision that takes something. */
export function published<Made extends Decision>(decision: Made, mode: Mode): Made {
  if (mode === 'consume' && decisionChannel.hasSubscribers)
    decisionChannel.publish(Object.freeze(copyOf(decision)))
  return decision
}

/** The decision, which the limiter's listener sees once it is known. */
export function observed<Made extends Decision | Promise<Decision>>(
  limiter: LimiterParts,
  mode: ConsumeRequest['mode'],
  decision: Made,
): Made {
  if (limiter.onDecision === undefined) return decision
  return whenKnown<Decision, Decision>(decision, show.bind(null, limiter, mode)) as Made
}

function show(
  { name, onDecision }: LimiterParts,
  mode: ConsumeRequest['mode'],
  decision: Decision,
): Decision {
  const copy = Object.freeze(copyOf(decision))
  notify('onDecision', name, () => onDecision?.(copy, copy.key, mode))
  return decision
}
