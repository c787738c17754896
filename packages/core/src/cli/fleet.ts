// What the processes of an application say of a change before it is written, and of what is set.

import type { Policy } from '../algorithms/policy.js'
import { policyText } from '../algorithms/policy-from.js'
import { memoized } from '../base/cache.js'
import { rangeError } from '../base/errors.js'
import { undeclared } from '../live/checks.js'
import { type Field, fieldOf, textOfField } from '../live/fields.js'
import { Held } from '../live/held.js'
import type { LiveProcess } from '../live/types.js'

type Processes = readonly LiveProcess[]

/**
 * @throws {RangeError | TypeError} WEIR_INVALID_OPTION where there are no processes,
 * WEIR_INVALID_NAME where none has such a policy, WEIR_INVALID_POLICY where one has another
 */
export function checkFits(
  processes: Processes,
  name: string,
  field: Field,
  policy: Policy | undefined,
): void {
  checkSome(processes, name)
  const having = processes.filter((each) => heldIn(each).isDeclared(field))
  if (having.length === 0 && processes.every(({ isWhole }) => isWhole)) {
    throw undeclared(field.name, namesOf(processes, field.kind), name, ', or --force')
  }
  if (policy === undefined) return
  for (const each of having) heldIn(each).check(field, policy)
}

/** @throws {RangeError} WEIR_INVALID_OPTION */
export function checkSome(processes: Processes, name: string): void {
  if (processes.length > 0) return
  const what = `no process has reported livePolicies named "${name}" in the last 15 s`
  const remedy = 'check --name, --redis and --prefix, or give --force where none is running'
  throw rangeError('WEIR_INVALID_OPTION', `${what}; ${remedy}`)
}

/** As the process itself would check what is stored. */
const heldIn = memoized((process: LiveProcess): Held => {
  return new Held(new Map(Object.entries(process.defaults)), () => {})
})

/** Of named policies; or of the policies themselves, which overrides have. */
export function namesOf(processes: Processes, kind: Field['kind']): readonly string[] {
  const all = policiesIn(processes).map(([name, policy]) =>
    kind === 'policy' ? name : policy.name,
  )
  return [...new Set(all)].sort()
}

/** What holds where nothing is set, in the first process that has it. */
export function defaultOf(processes: Processes, { kind, name }: Field): Policy | undefined {
  const isNamed = ([of, policy]: [string, Policy]) =>
    (kind === 'policy' ? of : policy.name) === name
  return policiesIn(processes).find(isNamed)?.[1]
}

function policiesIn(processes: Processes): [name: string, policy: Policy][] {
  return processes.flatMap(({ defaults }) => Object.entries(defaults))
}

/** Names of policies, each with what holds by default and in how many processes. */
export function defaultsIn(
  processes: Processes,
): readonly { readonly name: string; readonly text: string; readonly count: number }[] {
  const counts = new Map<string, { name: string; text: string; count: number }>()
  for (const [name, policy] of policiesIn(processes)) {
    const text = policyText(policy)
    const known = counts.get(`${name} ${text}`) ?? { name, text, count: 0 }
    known.count += 1
    counts.set(`${name} ${text}`, known)
  }
  return [...counts.values()]
}

/** Where a field that is set does not hold, and why. */
export function remarksOn(processes: Processes, text: string): readonly string[] {
  const field = fieldOf(text)
  if (field === undefined) return ['Weir has not written it']
  const { length } = processes
  const remarks: string[] = []
  const lacking = processes.filter((each) => each.isWhole && !heldIn(each).isDeclared(field)).length
  if (lacking > 0) {
    const some = `${lacking} of ${length} processes have no policy of this name`
    remarks.push(lacking === length ? 'no process has a policy of this name' : some)
  }
  const reasons = processes.flatMap(({ refused }) =>
    refused.filter((each) => textOfField(each as Field) === text).map(({ why }) => why),
  )
  for (const why of new Set(reasons)) {
    const count = reasons.filter((each) => each === why).length
    remarks.push(`refused in ${count} of ${length} processes: ${why}`)
  }
  return remarks
}

/** Processes in which something else holds than what is set. */
export function laggardsIn(processes: Processes, version: number): readonly string[] {
  return processes
    .filter((each) => each.version !== version || !each.isCurrent)
    .map((each) => {
      const ahead = each.pending === 0 ? '' : `, ${each.pending} more to come`
      const behind = each.isCurrent ? '' : ', and cannot follow'
      return `${each.process} is at version ${each.version}${ahead}${behind}`
    })
}
