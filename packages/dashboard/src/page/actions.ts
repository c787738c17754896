// The changes that the page can make: each is a question, and the request that confirming it sends.

import type { Action, ActionAnswer, LimiterFrame, LiveFrame, Preview } from '../protocol.js'
import { ask, type Field, type Values, Yet } from './dialog.js'
import { counted, shown } from './format.js'
import type { LiveActs } from './parts/live.js'
import type { LookedUp, LookupActs } from './parts/lookup.js'
import { policyFields, policyOf } from './policy-fields.js'
import { messageOf } from './stream.js'
import { changeWords, policyWords } from './words.js'

/** Called with a sentence that says what was done. */
type Done = (what: string) => void
/** An action without the field that all actions have. */
type Deed = Action extends infer One ? (One extends Action ? Omit<One, 'confirm'> : never) : never

function post(path: string, deed: Deed, confirm: string): Promise<Response> {
  return fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...deed, confirm }),
  })
}

async function send(deed: Deed, confirm: string, done: Done): Promise<string | undefined> {
  try {
    const response = await post('actions', deed, confirm)
    if (!response.ok) return shown(await messageOf(response), 300)
    const { note, problem } = (await response.json()) as ActionAnswer
    if (problem !== undefined) return shown(`${problem.code}: ${problem.message}`, 500)
    done(`Done: ${note.what}${note.why === undefined ? '' : `; ${note.why}`}`)
    return undefined
  } catch {
    return 'The server cannot be reached. The list of actions will say whether this was done.'
  }
}

/** Whether the server would do it, and what happens to what was counted. */
async function preview(deed: Deed, confirm: string): Promise<string> {
  const response = await post('preview', deed, confirm).catch(() => undefined)
  if (response === undefined) throw new Error('The server cannot be reached.')
  if (!response.ok) throw new Error(shown(await messageOf(response), 500))
  const { isNewCounter } = (await response.json()) as Preview
  return isNewCounter
    ? 'A new counter begins, because the time scale changes: what was used before does not count.'
    : 'What was used before goes on counting.'
}

export function switching(limiter: LimiterFrame, enabled: boolean, done: Done): void {
  const name = shown(limiter.id)
  ask({
    title: `Switch ${enabled ? 'on' : 'off'} ${name}`,
    fields: [],
    says: () =>
      enabled
        ? `${name} limits again, in this process and in all that are watched now.`
        : `${name} lets everything pass, in this process and in all that are watched now. Processes that start later begin as their code says.`,
    typed: enabled ? undefined : limiter.id,
    does: enabled ? 'Switch on' : 'Switch off',
    run: () =>
      send({ kind: enabled ? 'enable' : 'disable', limiter: limiter.id }, limiter.id, done),
  })
}

/** The actions on a key that was looked up. */
export function keyActs(lives: () => readonly LiveFrame[], done: Done): LookupActs {
  const about = ({ found }: LookedUp): string => `${shown(found.key)} of ${shown(found.limiter)}`
  const deed = (kind: 'reset' | 'unblock', of: LookedUp) =>
    send({ kind, limiter: of.found.limiter, ...of.whose }, of.found.limiter, done)
  return {
    reset: (of) =>
      ask({
        title: `Reset ${about(of)}`,
        fields: [],
        says: () =>
          `All that ${about(of)} has used, under all its policies, is forgotten: it starts like a new key.`,
        typed: undefined,
        does: 'Reset',
        run: () => deed('reset', of),
      }),
    unblock: (of) =>
      ask({
        title: `Unblock ${about(of)}`,
        fields: [],
        says: () => `The blocks of ${about(of)} end now. Their levels stay.`,
        typed: undefined,
        does: 'Unblock',
        run: () => deed('unblock', of),
      }),
    block: (of) =>
      ask({
        title: `Block ${about(of)}`,
        fields: [
          {
            name: 'duration',
            label: 'For how long',
            kind: 'text',
            value: '1h',
            hint: 'Such as 30s, 15m, 1h or 1d',
          },
        ],
        says: ({ duration }) => `No request of ${about(of)} passes for ${shown(duration ?? '')}.`,
        typed: undefined,
        does: 'Block',
        run: ({ duration = '' }) =>
          send(
            { kind: 'block', limiter: of.found.limiter, ...of.whose, duration },
            of.found.limiter,
            done,
          ),
      }),
    lives,
    override: (live, of) => overriding(live, done, of),
  }
}

export function liveActs(done: Done): LiveActs {
  return {
    set: (live, { name, policy }) => {
      const deed = (next: object): Deed => ({ kind: 'set', live: live.id, name, policy: next })
      ask({
        title: `Change ${shown(name)} of ${shown(live.id)}`,
        fields: policyFields(policy, ['name']),
        says: (values) => {
          const changes = changeWords(policy, policyOf(policy, values))
          if (changes === '') throw new Yet('Nothing differs yet.')
          return `${shown(name)} changes in all processes, in about 1.5 s: ${changes}.`
        },
        checks: (values) => preview(deed(policyOf(policy, values)), name),
        typed: name,
        does: 'Change',
        run: (values) => send(deed(policyOf(policy, values)), name, done),
      })
    },
    unset: (live, row) =>
      askPlainly(
        `Unset ${shown(row.name)} of ${shown(live.id)}`,
        `All processes go back to what their code has: ${policyWords(row.default ?? {})}.`,
        'Unset',
        { kind: 'unset', live: live.id, name: row.name },
        row.name,
        done,
      ),
    override: (live) => overriding(live, done),
    remove: (live, row) =>
      askPlainly(
        `Remove the override of ${shown(row.key)}`,
        `${shown(row.key)} is limited like all other keys, no longer by ${policyWords(row.policy)}.`,
        'Remove',
        { kind: 'remove', live: live.id, handle: row.handle },
        live.id,
        done,
      ),
    rollBack(live, { version }) {
      const later = live.history.filter((change) => change.version > version).length
      askPlainly(
        `Roll ${shown(live.id)} back to version ${version}`,
        `All policies and overrides become what they were in version ${version}: ${counted(later, 'later change')} undone, in all processes. The roll-back can be rolled back in turn.`,
        'Roll back',
        { kind: 'rollback', live: live.id, version },
        live.id,
        done,
      )
    },
  }
}

/** A change of live policies that has no fields. */
function askPlainly(
  title: string,
  says: string,
  does: string,
  deed: Deed,
  typed: string,
  done: Done,
): void {
  ask({
    title,
    fields: [],
    says: () => says,
    checks: () => preview(deed, typed),
    typed,
    does,
    run: () => send(deed, typed, done),
  })
}

/** @param of a key that was looked up; undefined: the user types one */
function overriding(live: LiveFrame, done: Done, of?: LookedUp): void {
  const handle = of?.whose.handle
  // A key that may be masked is not typed, nor is it a prefix.
  const whole: readonly Field[] = [
    { name: 'whose', label: 'Key', kind: 'text', value: of?.whose.key ?? '' },
    { name: 'isPrefix', label: 'All keys that begin like this', kind: 'check', value: '' },
  ]
  const name = handle === undefined ? undefined : shown(of?.found.key ?? '')
  const ofKey = of?.found.policies.map(({ policy }) => policy) ?? []
  const nameIn = (policy: object): string => String((policy as { name?: unknown }).name)
  const all = live.policies.map(({ policy }) => policy)
  const policy = all.find((each) => ofKey.includes(nameIn(each))) ?? all[0] ?? {}
  // With one name, there is nothing to choose.
  const fixed = new Set(all.map(nameIn)).size === 1 ? ['name'] : []
  const deed = ({ whose: key = '', isPrefix, ...values }: Values): Deed => {
    const target = handle === undefined ? { key } : { limiter: of?.found.limiter, handle }
    const next = policyOf(policy, values)
    const kind = { kind: 'override', live: live.id, isPrefix: isPrefix === 'on' } as const
    return { ...kind, policy: next, ...target } as Deed
  }
  ask({
    title: `Override ${name ?? 'a key'} in ${shown(live.id)}`,
    fields: [...(name === undefined ? whole : []), ...policyFields(policy, fixed)],
    says: ({ whose: key = '', isPrefix, ...values }) => {
      const next = policyOf(policy, values)
      if (name === undefined && key === '') throw new Yet('Type the key whose limit differs.')
      const whose =
        isPrefix === 'on'
          ? `All keys that begin with ${shown(key)} are`
          : `${name ?? shown(key)} is`
      return `${whose} limited by ${policyWords(next)}, in place of the policies of the same name.`
    },
    checks: (values) => preview(deed(values), live.id),
    typed: live.id,
    does: 'Override',
    run: (values) => send(deed(values), live.id, done),
  })
}
