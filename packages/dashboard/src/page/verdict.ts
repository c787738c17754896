// Whether all is well, in words: what the head of the page says first. Each part of the page that
// shows a state takes it from here, so that no two say different things.

import type { Frame, LimiterFrame, LiveFrame, StoreFrame } from '../protocol.js'
import { counted, listed, minute, shown } from './format.js'

/** How a state is coloured. `idle`: neither well nor ill. */
export type Kind = 'good' | 'fair' | 'bad' | 'idle'
export type State = readonly [kind: Kind, words: string]
/** Something that is not well, as a sentence without its full stop. */
export type Finding = readonly [kind: 'fair' | 'bad', text: string]

/** What happened in the last minute. */
export interface Recent {
  readonly degraded: (limiter: string) => number
  readonly errors: (limiter: string) => number
  /** How many requests overload protection refused. */
  readonly refused: (guard: string) => number
}

/** A breaker says nothing of a store that no decision asks: the page's own question does.
 *  `missing`: it got no answer; `asked`: not yet. */
type Health = 'closed' | 'open' | 'half-open' | 'missing' | 'asked'

/** All that is not well; the worst first. */
export function findingsOf(frame: Frame, recent: Recent): readonly Finding[] {
  const all = [
    ...storeFindings(frame),
    ...fleetFindings(frame),
    ...decisionFindings(frame, recent),
    ...frame.live.flatMap((live) => liveFindings(live)),
    ...frame.limiters.flatMap((limiter) => offFindings(limiter, frame)),
    ...frame.guards.flatMap(({ id }): Finding[] =>
      recent.refused(id) > 0
        ? [['fair', `${shown(id)} refuses requests, to protect the process`]]
        : [],
    ),
  ]
  return [...all.filter(([kind]) => kind === 'bad'), ...all.filter(([kind]) => kind === 'fair')]
}

const WORST_FIRST = ['open', 'missing', 'half-open', 'asked', 'closed'] as const

/** The worst state of a store. One without nodes and without an answer is in the process, and
 *  always there. */
export function healthOf({ nodes, answer }: Pick<StoreFrame, 'nodes' | 'answer'>): Health {
  return worstOf([...nodes.map(({ state }) => state), answer === 'came' ? undefined : answer])
}

/** The state of one of its nodes. Which node was asked for the store is not known. */
export function nodeHealth({ nodes, answer }: StoreFrame, state: Health): Health | undefined {
  if (state !== 'closed' || answer === undefined || answer === 'came') return state
  return nodes.length === 1 ? answer : undefined
}

export function worstOf(all: readonly (Health | undefined)[]): Health {
  return WORST_FIRST.find((each) => all.includes(each)) ?? 'closed'
}

/** Whether a store does not answer the page's question, so that other processes are not known. */
export function isMissing({ answer }: Pick<StoreFrame, 'answer'>): boolean {
  return answer === 'missing'
}

/** The first words, if nothing is known that is not well. */
export function wellWords(frame: Frame): State {
  const asked = frame.stores.find((store) => healthOf(store) === 'asked')
  return asked === undefined ? ['good', 'All well'] : ['idle', `Asking ${nameOf(asked, frame)}`]
}

export function nameOf({ kind, id }: StoreFrame, { stores }: Pick<Frame, 'stores'>): string {
  const name = shown(kind === 'redis' ? 'Redis' : kind)
  return stores.filter((store) => store.kind === kind).length > 1 ? `${name} (${shown(id)})` : name
}

const MEANWHILE = {
  local: 'each process decides on its part',
  allow: 'what it limits passes',
  deny: 'what it limits is refused',
  throw: 'decisions fail',
  policy: 'each process decides by its policy for outages',
} as const

function storeFindings(frame: Frame): Finding[] {
  return frame.stores.flatMap((store): Finding[] => {
    const { nodes, whenUnavailable } = store
    const name = nameOf(store, frame)
    const health = healthOf(store)
    if (health === 'closed' || health === 'asked') return []
    if (health === 'missing')
      return [['bad', `${name} does not answer this page, so other processes are not known`]]
    const some = nodes.filter(({ state }) => state === health)
    const who =
      some.length === nodes.length
        ? name
        : some.length === 1
          ? `${shown(some[0]?.node ?? '')} of ${name}`
          : `${some.length} of ${nodes.length} nodes of ${name}`
    const since = sinceWords(some)
    if (health === 'half-open') return [['fair', `${who} answers again, after it was away${since}`]]
    const then = whenUnavailable === undefined ? '' : `: ${MEANWHILE[whenUnavailable]}`
    return [['bad', `${who} away${since}${then}`]]
  })
}

function sinceWords(nodes: StoreFrame['nodes']): string {
  const all = nodes.map(({ awaySinceMs }) => awaySinceMs).filter((ms) => ms !== undefined)
  return all.length === 0 ? '' : ` since ${minute(Math.min(...all))}`
}

function fleetFindings({ fleet, stores }: Frame): Finding[] {
  const away = fleet.filter(({ isThis, health }) => !isThis && health === 'open')
  if (away.length === 0 || stores.some(isMissing)) return []
  const names = listed(away.map(({ process }) => shown(process)))
  return [
    [
      'bad',
      `A store is away in ${counted(away.length, 'other process', 'other processes')}: ${names}`,
    ],
  ]
}

function decisionFindings({ limiters, stores }: Frame, recent: Recent): Finding[] {
  const named = (has: (limiter: LimiterFrame) => boolean): string =>
    listed(limiters.filter(has).map(({ id }) => shown(id)))
  const failing = named(({ id }) => recent.errors(id) > 0)
  const isAway = ({ store }: LimiterFrame): boolean =>
    stores.some((each) => each.id === store && healthOf(each) !== 'closed')
  const degraded = named((limiter) => recent.degraded(limiter.id) > 0 && !isAway(limiter))
  return [
    ...(failing === ''
      ? []
      : [['bad', `Some decisions of the last minute failed: ${failing}`] as const]),
    ...(degraded === ''
      ? []
      : [
          [
            'fair',
            `Some decisions of the last minute were made without the store: ${degraded}`,
          ] as const,
        ]),
  ]
}

function liveFindings(live: LiveFrame): Finding[] {
  const name = shown(live.id)
  const found: Finding[] = []
  if (live.refused > 0)
    found.push([
      'bad',
      `${name}: this process refuses ${counted(live.refused, 'stored policy', 'stored policies')}`,
    ])
  if (!live.isCurrent)
    found.push(['fair', `${name}: the store is not heard, so what was read last holds`])
  const others = behind(live)
  if (live.isCurrent && others > 0)
    found.push([
      'fair',
      `${name}: ${counted(others, 'process does', 'processes do')} not have all limits that are set`,
    ])
  return found
}

/** How many processes do not have what is set. */
export function behind({ processes }: LiveFrame): number {
  return processes.filter(({ isCurrent, refused }) => !isCurrent || refused.length > 0).length
}

/** In how many of the processes that have a limiter of that name it is off. */
export function offIn(
  { name }: LimiterFrame,
  { fleet }: Frame,
): readonly [off: number, all: number] {
  const all = fleet.flatMap(({ limiters }) => limiters.filter((each) => each.name === name))
  return [all.filter(({ enabled }) => !enabled).length, all.length]
}

function offFindings(limiter: LimiterFrame, frame: Frame): Finding[] {
  const [off, all] = offIn(limiter, frame)
  if (!limiter.enabled && off === all) return [['fair', `${shown(limiter.id)} is switched off`]]
  return off === 0
    ? []
    : [['fair', `${shown(limiter.id)} is off in ${off} of ${counted(all, 'process', 'processes')}`]]
}

const WITHOUT_STORE = {
  local: 'decides locally',
  allow: 'not enforced',
  deny: 'refuses all',
  throw: 'fails',
  policy: 'policy for outages',
} as const

/** What a limiter does with denials. */
export function limiterState(limiter: LimiterFrame, { stores }: Frame): State {
  if (!limiter.enabled) return ['bad', 'off']
  if (limiter.shadow) return ['idle', 'shadow']
  // An older server does not say which store is the limiter's.
  const own = stores.filter(({ id }) => id === (limiter.store ?? id))
  const away = own.find((store) => healthOf(store) === 'open')
  if (away === undefined)
    return own.some(({ answer = 'came' }) => answer !== 'came')
      ? ['idle', 'not known']
      : ['good', 'enforced']
  const isPart = away.nodes.some(({ state }) => state !== 'open')
  return ['fair', isPart ? 'in part' : WITHOUT_STORE[away.whenUnavailable ?? 'throw']]
}

const HEALTH = {
  closed: ['good', 'answers'],
  open: ['bad', 'away'],
  'half-open': ['fair', 'just back'],
  missing: ['bad', 'no answer'],
  asked: ['idle', 'asked'],
} as const

/** What a node, or the worst node of a process, does. Undefined: that is not known. */
export function healthWords(health: Health | undefined): State {
  return health === undefined ? ['idle', 'not known'] : HEALTH[health]
}
