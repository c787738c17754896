// A limiter's policies.

import type { LimiterFrame } from '../../protocol.js'
import { el, setText } from '../dom.js'
import { count, counted, measured, shown } from '../format.js'
import { limitWords } from '../words.js'
import { type Table, table } from './table.js'

type Policy = LimiterFrame['policies'][number]

export function policyTable(): Table<Policy> {
  const columns = [
    { title: 'Policy' },
    { title: 'Limit' },
    { title: 'Denied', kind: 'number' },
    { title: 'Near limit', kind: 'number' },
    { title: 'Units taken', kind: 'number' },
  ] as const
  return table('Policies of this limiter', columns, ({ policy }: Policy) => policy, policyRow)
}

function policyRow(): { cells: readonly HTMLElement[]; update: (policy: Policy) => void } {
  const name = el('bdi', 'strong')
  const kind = el('span', 'muted small')
  const limit = el('span')
  const more = el('span', 'muted small')
  const [denied, near, taken] = [el('span'), el('span'), el('span')]
  return {
    cells: [el('div', 'stack', name, kind), el('div', 'stack', limit, more), denied, near, taken],
    update(policy) {
      setText(name, shown(policy.policy))
      setText(kind, policy.algorithm?.replaceAll('-', ' ') ?? '')
      setText(
        limit,
        limitWords(policy.limit, policy.slots === undefined ? policy.windowMs : undefined),
      )
      setText(more, moreOf(policy).join(' · '))
      setText(denied, count(deniedBy(policy)))
      setText(near, count(policy.nearLimit))
      setText(taken, count(policy.units.taken))
    },
  }
}

/** How often the policy denied, for any reason. */
function deniedBy(policy: Policy): number {
  return Object.values(policy.denials).reduce((sum, each) => sum + each, 0)
}

/** Notes that are shown only if there is something to say. */
function moreOf({ factor, slots, blocks, denials, units }: Policy): string[] {
  const words: string[] = []
  if (factor !== undefined && factor !== 1) words.push(`factor ${measured(factor)}`)
  if (slots !== undefined)
    words.push(`${counted(slots.held, 'slot')} held, ${count(slots.expired)} expired`)
  const levels = blocks.map((times, level) => (times > 0 ? `${level + 1}: ${count(times)}` : ''))
  if (levels.some((each) => each !== ''))
    words.push(`blocks by level ${levels.filter((each) => each !== '').join(', ')}`)
  for (const [reason, times] of Object.entries(denials))
    if (reason !== 'limit' && times > 0)
      words.push(`${shown(reason).replaceAll('-', ' ')} ${count(times)}`)
  for (const kind of ['refunded', 'penalty', 'denied'] as const)
    if (units[kind] > 0) words.push(`units ${kind} ${count(units[kind])}`)
  return words
}
