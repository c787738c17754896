// All metrics. docs/metrics.md has an entry for each, and a test compares them.

import type { Definition, Join } from './metric.js'

function counter(name: string, unit: string, help: string): Definition {
  return { name, type: 'counter', unit, help, join: 'sum' }
}

function gauge(name: string, unit: string, help: string, join: Join = 'sum'): Definition {
  return { name, type: 'gauge', unit, help, join }
}

function histogram(name: string, help: string): Definition {
  return { name, type: 'histogram', unit: 's', help, join: 'sum' }
}

/** The names of metrics in this package. */
export type Name =
  | 'decisions'
  | 'priorities'
  | 'denials'
  | 'nearLimit'
  | 'units'
  | 'crossings'
  | 'blocks'
  | 'slotsHeld'
  | 'slotsExpired'
  | 'limit'
  | 'factor'
  | 'info'
  | 'enabled'
  | 'shadow'
  | 'undecided'
  | 'waiting'
  | 'waits'
  | 'overloadLimit'
  | 'overloadInFlight'
  | 'overloadRefused'
  | 'overloadPriorities'
  | 'liveVersion'
  | 'liveCurrent'
  | 'liveRefused'
  | 'calls'
  | 'durations'
  | 'inFlight'
  | 'breaker'
  | 'instances'
  | 'unreconciled'
  | 'events'
  | 'keys'
  | 'size'
  | 'evictions'
  | 'failures'

export const DEFINITIONS: Readonly<Record<Name, Definition>> = {
  decisions: counter('weir.decisions', '{decision}', 'Decisions. Each is counted once.'),
  priorities: counter(
    'weir.priority.decisions',
    '{decision}',
    'Decisions of limiters with reserve, by class. weir.decisions counts them as well.',
  ),
  denials: counter(
    'weir.denials',
    '{denial}',
    'Denied decisions, by the binding policy and the reason. Not enforced: in shadow mode.',
  ),
  nearLimit: counter(
    'weir.near_limit',
    '{decision}',
    'Allowed decisions that left at most a fifth of the limit of the binding policy.',
  ),
  units: counter('weir.units', '{unit}', 'Units taken, given back, taken as a penalty, denied.'),
  crossings: counter(
    'weir.crossings',
    '{crossing}',
    'Times that usage crossed a share of the limit, for policies with notifyAt.',
  ),
  blocks: counter(
    'weir.blocks',
    '{block}',
    'Blocks of lock-outs that began here, by level; 8 includes those above.',
  ),
  slotsHeld: gauge('weir.slots.held', '{slot}', 'Slots of a concurrency that this process holds.'),
  slotsExpired: counter(
    'weir.slots.expired',
    '{slot}',
    'Slots that expired before they were renewed or released.',
  ),
  limit: gauge('weir.policy.limit', '{unit}', 'The limit of a policy.', 'last'),
  factor: gauge(
    'weir.adaptive.factor',
    '1',
    'The factor of an adaptive policy at its last use: 1 is its full limit.',
    'least',
  ),
  info: gauge('weir.policy.info', '1', 'Algorithm and window of a policy. Always 1.', 'last'),
  enabled: gauge('weir.limiter.enabled', '1', '0: the limiter is switched off.', 'least'),
  shadow: gauge('weir.limiter.shadow', '1', '1: denials of the limiter are not enforced.', 'least'),
  undecided: counter(
    'weir.http.undecided',
    '{request}',
    'Requests without a decision, by the reason.',
  ),
  waiting: gauge('weir.waiting', '{request}', 'Requests that wait for their turn now.'),
  waits: histogram('weir.wait.duration', 'How long requests waited for their turn.'),
  overloadLimit: gauge(
    'weir.overload.limit',
    '{request}',
    'Requests that overload protection lets be in flight.',
  ),
  overloadInFlight: gauge('weir.overload.in_flight', '{request}', 'Requests in flight.'),
  overloadRefused: counter(
    'weir.overload.refused',
    '{request}',
    'Requests refused because too many were in flight.',
  ),
  overloadPriorities: counter(
    'weir.overload.priority.requests',
    '{request}',
    'Requests that overload protection with reserve let in or refused, by their class.',
  ),
  liveVersion: gauge(
    'weir.live.version',
    '1',
    'The version of live policies that this process applies.',
    'least',
  ),
  liveCurrent: gauge(
    'weir.live.current',
    '1',
    '0: the store could not be read for a while, so other processes may apply other policies.',
    'least',
  ),
  liveRefused: gauge(
    'weir.live.refused',
    '{setting}',
    'Stored policies and overrides that were refused; the previous ones apply.',
    'last',
  ),
  calls: counter('weir.store.calls', '{call}', 'Calls to a store, by their result.'),
  durations: histogram('weir.store.call.duration', 'How long calls to a store took.'),
  inFlight: gauge('weir.store.in_flight', '{call}', 'Calls that wait for an answer of the store.'),
  breaker: gauge('weir.store.breaker.state', '1', '1: the state of the circuit breaker.', 'last'),
  instances: gauge(
    'weir.store.instances',
    '{instance}',
    'Processes that share the limits, as far as this one knows.',
    'last',
  ),
  unreconciled: gauge(
    'weir.store.unreconciled',
    '{key}',
    'Keys whose units were admitted without the store and are yet to be counted in it.',
  ),
  events: counter('weir.store.events', '{event}', 'Events of a store.'),
  keys: gauge('weir.memory.keys', '{key}', 'Keys that a memory store keeps.'),
  size: gauge('weir.memory.size', 'By', 'Memory of the tables of a memory store.'),
  evictions: counter(
    'weir.memory.evictions',
    '{key}',
    'Keys that a memory store forgot early because it had too many.',
  ),
  failures: counter(
    'weir.metrics.failures',
    '{failure}',
    'Limiters, stores and live policies that could not be read for metrics.',
  ),
}
