// The changes that the page can make: each is a question, and the request that confirming it sends.

import type { Action, ActionAnswer, LimiterFrame, LiveFrame } from '../protocol.js'
import { ask, type Field } from './dialog.js'
import { counted, shown } from './format.js'
import type { LiveActs } from './parts/live.js'
import type { LookedUp, LookupActs } from './parts/lookup.js'
import { messageOf } from './stream.js'
import { changeWords, policyWords } from './words.js'

/** Called with a sentence that says what was done. */
type Done = (what: string) => void
/** An action without the field that all actions have. */
type Deed = Action extends infer One ? (One extends Action ? Omit<One, 'confirm'> : never) : never

async function send(deed: Deed, confirm: string, done: Done): Promise<string | undefined> {
  try {
    const response = await fetch('actions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...deed, confirm }),
    })
    if (!response.ok) return shown(await messageOf(response), 300)
    const { note, problem } = (await response.json()) as ActionAnswer
    if (problem !== undefined) return shown(`${problem.code}: ${problem.message}`, 500)
    done(`Done: ${note.what}${note.why === undefined ? '' : `; ${note.why}`}`)
    return undefined
  } catch {
    return 'The server cannot be reached. The list of actions will say whether this was done.'
  }
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
    set: (live, { name, policy }) =>
      ask({
        title: `Change ${shown(name)} of ${shown(live.id)}`,
        fields: [policyField(policy)],
        says: (values) => {
          const next = policyOf(values)
          const changes = changeWords(policy, next)
          return changes === ''
            ? 'Nothing differs yet.'
            : `${shown(name)} changes in all processes, in about 1.5 s: ${changes}.`
        },
        typed: name,
        does: 'Change',
        run: (values) =>
          send({ kind: 'set', live: live.id, name, policy: policyOf(values) }, name, done),
      }),
    unset: (live, row) =>
      ask({
        title: `Unset ${shown(row.name)} of ${shown(live.id)}`,
        fields: [],
        says: () =>
          `All processes go back to what their code has: ${policyWords(row.default ?? {})}.`,
        typed: row.name,
        does: 'Unset',
        run: () => send({ kind: 'unset', live: live.id, name: row.name }, row.name, done),
      }),
    override: (live) => overriding(live, done),
    remove: (live, row) =>
      ask({
        title: `Remove the override of ${shown(row.key)}`,
        fields: [],
        says: () =>
          `${shown(row.key)} is limited like all other keys, no longer by ${policyWords(row.policy)}.`,
        typed: live.id,
        does: 'Remove',
        run: () => send({ kind: 'remove', live: live.id, handle: row.handle }, live.id, done),
      }),
    rollBack: (live, { version }) =>
      ask({
        title: `Roll ${shown(live.id)} back to version ${version}`,
        fields: [],
        says: () => {
          const later = live.history.filter((change) => change.version > version).length
          return `All policies and overrides become what they were in version ${version}: ${counted(later, 'later change')} undone, in all processes. The roll-back can be rolled back in turn.`
        },
        typed: live.id,
        does: 'Roll back',
        run: () => send({ kind: 'rollback', live: live.id, version }, live.id, done),
      }),
  }
}

/** @param of a key that was looked up; undefined: the user types one */
function overriding(live: LiveFrame, done: Done, of?: LookedUp): void {
  const handle = of?.whose.handle
  // A key that may be masked is not typed, nor is it a prefix.
  const whole: readonly Field[] = [
    { name: 'key', label: 'Key', kind: 'text', value: of?.whose.key ?? '' },
    { name: 'isPrefix', label: 'All keys that begin like this', kind: 'check', value: '' },
  ]
  const name = handle === undefined ? undefined : shown(of?.found.key ?? '')
  ask({
    title: `Override ${name ?? 'a key'} in ${shown(live.id)}`,
    fields: [...(name === undefined ? whole : []), policyField(live.policies[0]?.policy ?? {})],
    says: ({ key = '', isPrefix, ...values }) => {
      const policy = policyOf(values)
      if (name === undefined && key === '') throw new Error('Type the key whose limit differs.')
      const whose =
        isPrefix === 'on'
          ? `All keys that begin with ${shown(key)} are`
          : `${name ?? shown(key)} is`
      return `${whose} limited by ${policyWords(policy)}, in place of the policies of the same name.`
    },
    typed: live.id,
    does: 'Override',
    run: ({ key = '', isPrefix, ...values }) => {
      const whose = handle === undefined ? { key } : { limiter: of?.found.limiter, handle }
      const policy = policyOf(values)
      const deed = { kind: 'override', live: live.id, isPrefix: isPrefix === 'on', policy } as const
      return send({ ...deed, ...whose } as Deed, live.id, done)
    },
  })
}

function policyField(policy: object): Field {
  return {
    name: 'policy',
    label: 'Policy, as JSON',
    kind: 'policy',
    value: JSON.stringify(policy, undefined, 1).replace(/\n\s*/g, ' '),
    hint: 'The options of its function, and the name of its algorithm',
  }
}

/** @throws Error that says what is wrong with the text */
function policyOf(values: Readonly<Record<string, string>>): object {
  let policy: unknown
  try {
    policy = JSON.parse(values.policy ?? '')
  } catch {
    throw new Error('The policy is not JSON.')
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy))
    throw new Error('The policy is not an object of options.')
  return policy
}
