// Changes that users make: checked against what this process knows, and written for all.

import type { Policy } from '../algorithms/policy.js'
import { policyText } from '../algorithms/policy-from.js'
import type { SettingAnswer } from '../settings.js'
import { changeField, rollBack } from './changes.js'
import { checkDeclared, checkNamed, overrideOf } from './checks.js'
import { type Field, fieldOf, textOfField } from './fields.js'
import type { Held } from './held.js'
import type { NamedSettings } from './named-settings.js'
import type { LivePolicies, OverrideKey, PolicyAnswer } from './types.js'

type Edits = Pick<
  LivePolicies<string>,
  'set' | 'unset' | 'override' | 'remove' | 'rollback' | 'history'
>

export function edits(at: NamedSettings, held: Held): Edits {
  function named(of: string): Field {
    checkDeclared(of, held.names, at.name)
    return { kind: 'policy', name: of }
  }

  function overridden(key: OverrideKey, of: string): Field {
    checkDeclared(of, held.policyNames, at.name)
    return overrideOf(at.settings, of, key)
  }

  function answerOf(answer: SettingAnswer, field: Field): PolicyAnswer {
    return { ...held.describe(answer, field), isChanged: answer.outcome === 'changed' }
  }

  async function change(field: Field, policy: Policy | undefined): Promise<PolicyAnswer> {
    const value = policy === undefined ? '' : policyText(policy)
    return answerOf(await changeField(at, { field: textOfField(field), value }), field)
  }

  /** What can be described here: another version of the application may have other policies. */
  function isHere(field: Field | undefined): field is Field {
    return field !== undefined && (field.kind !== 'policy' || held.isDeclared(field))
  }

  return {
    async set(of, policy) {
      const field = named(of)
      held.check(field, policy)
      return change(field, policy)
    },
    unset: async (of) => change(named(of), undefined),
    async override(key, policy) {
      checkNamed(policy, 'policy of an override')
      const field = overridden(key, policy.name)
      held.check(field, policy)
      return change(field, policy)
    },
    async remove(key, of) {
      const [only, ...others] = held.policyNames
      const name = of ?? (others.length === 0 ? only : undefined)
      return change(overridden(key, name as string), undefined)
    },
    async rollback(version) {
      const answers = await rollBack(at, version, (field, value) => held.checkStored(field, value))
      return answers.flatMap((answer) => {
        const field = fieldOf(answer.field)
        return isHere(field) ? [answerOf(answer, field)] : []
      })
    },
    async history() {
      const { changes = [] } = await at.settings.news(at.name)
      return changes.toReversed().flatMap((each) => {
        const field = fieldOf(each.field)
        return isHere(field) ? [held.describe(each, field)] : []
      })
    },
  }
}
