// Every algorithm, as a policy with the page's settings, and the most that it lets through in any
// window, from the descriptions of algorithms.

import { type Policy, slidingWindow } from '@weir/core'
import { algorithms, type PolicyDescription } from '@weir/core/testing'
import { inRepository } from '../../../core/src/algorithms/repository.generated.js'
import type { Card } from '../../../core/src/algorithms/repository.js'
import { type Settings, WINDOWS } from './settings.js'

/** The settings that a policy is made from. */
export type Numbers = Pick<Settings, 'limit' | 'window' | 'burst'>

export interface Algorithm {
  readonly id: string
  readonly title: string
  /** What the algorithm does, in a sentence. */
  readonly says: string
  policy(numbers: Numbers): Policy
  /** The policy in code, as a user writes it. */
  call(numbers: Numbers): string
  /** The most units in any window. */
  bound(numbers: Numbers): number
  /** The bound, in words. */
  readonly because: string
  /** Whether its windows begin on the clock's. */
  readonly isOnClock: boolean
}

const SOME: Numbers = { limit: 20, window: '1m', burst: 20 }
const { algorithm: DEFAULT } = slidingWindow({ limit: 1, window: '1m' })

/** The default first. */
export const ALGORITHMS: readonly Algorithm[] = Object.entries(algorithms)
  .flatMap(([folder, { policies }]) =>
    Object.entries(policies).flatMap(([name, description]) => {
      const { cards = [] } = inRepository[folder]?.policies[name] ?? {}
      return cards.map((card) => shown(name, description, card))
    }),
  )
  .sort((one, other) => Number(other.id === DEFAULT) - Number(one.id === DEFAULT))

function shown(
  name: string,
  { create, bound }: PolicyDescription,
  { title, says, options, isOnClock = false }: Card,
): Algorithm {
  const policy = (numbers: Numbers): Policy => create(options(numbers) as never)
  return {
    id: title.toLowerCase().replace(/\W+/g, '-'),
    title,
    says,
    policy,
    call: (numbers) => `${name}(${codeOf(options(numbers))})`,
    bound: (numbers) => bound(policy(numbers), WINDOWS[numbers.window]).units,
    because: bound(policy(SOME)).says,
    isOnClock,
  }
}

function codeOf(options: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(options).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? `'${value}'` : value}`
  })
  return `{ ${texts.join(', ')} }`
}
