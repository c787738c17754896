// The table "What each promises" of docs/algorithms.md, from the descriptions of algorithms.

import { inRepository } from '../../../../packages/core/src/algorithms/repository.generated.js'
import type { Promised } from '../../../../packages/core/src/algorithms/repository.js'
import { policyFactories } from '../../../../packages/core/src/testing/algorithms.js'
import { type BoundRow, example, LIMIT, tableOf, textOf } from './bound-row.js'

interface AlgorithmRow extends BoundRow {
  /** How exact the algorithm is. */
  readonly exact: string
}

const promises = Object.values(inRepository)
  .flatMap(({ policies }) => Object.entries(policies))
  .flatMap(([name, { promise }]) => (promise === undefined ? [] : [[name, promise] as const]))

export const algorithmRows: readonly AlgorithmRow[] = [
  ...new Set(promises.map(([, promise]) => promise)),
].map((promise) => rowOf(promise, namesOf(promise)))

/** The policies that promise the same. */
function namesOf(promise: Promised): readonly string[] {
  return promises.filter(([, other]) => other === promise).map(([name]) => name)
}

function rowOf(
  { passes, example: of = '', terms, exact }: Promised,
  names: readonly string[],
): AlgorithmRow {
  const { of: make, bound } = policyFactories[names[0] ?? ''] as (typeof policyFactories)[string]
  const { units } = bound(make(LIMIT, '1m'))
  const when = names.map((name) => `\`${name}\``).join(', ')
  return { when, passes, example: example(of, terms(LIMIT), units), exact }
}

export function algorithmsText(): string {
  const rows = algorithmRows.map(({ when, passes, example, exact }) => {
    return [when, passes, textOf(example), exact]
  })
  return tableOf(['policy', 'passes at most', `for L = ${LIMIT}`, 'how exact'], rows)
}
