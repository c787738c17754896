// A key that was looked up: a gauge for each policy, and why a request would be refused. A lookup
// takes no units.

import type { Frame, KeyOrHandle, LiveFrame, Lookup, LookupRequest } from '../../protocol.js'
import { button, el, type Part, setText } from '../dom.js'
import { clock, shown } from '../format.js'
import { messageOf } from '../stream.js'
import { gauge } from './gauge.js'

/** The key that was looked up, for the actions on it. */
export interface LookedUp {
  readonly found: Lookup
  readonly whose: KeyOrHandle
}

export interface LookupActs {
  readonly reset: (of: LookedUp) => void
  readonly block: (of: LookedUp) => void
  readonly unblock: (of: LookedUp) => void
  /** The live policies that can have an override of the key. */
  readonly lives: () => readonly LiveFrame[]
  readonly override: (live: LiveFrame, of: LookedUp) => void
}

export interface LookupPart extends Part<Frame> {
  /** Looks up a key of a list, and scrolls to the result. */
  readonly lookUp: (limiter: string, handle: string, key: string) => void
  /** Repeats the lookup, after a change. */
  readonly again: () => void
}

export function lookup(acts: LookupActs): LookupPart {
  const select = el('select', { id: 'lookup-limiter' })
  const input = el('input', {
    id: 'lookup-key',
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 1_024,
  })
  const form = el(
    'form',
    { class: 'lookup-form', novalidate: true, autocomplete: 'off' },
    field('Limiter', select),
    field('Key', input),
    el('button', { type: 'submit', class: 'button main' }, 'Look up'),
  )
  const result = el('div', {
    class: 'lookup-result',
    tabindex: -1,
    role: 'group',
    'aria-label': 'What holds for the key',
  })
  let last: LookupRequest | undefined
  let asked = 0

  const ask = async (request: LookupRequest, isMoved: boolean): Promise<void> => {
    last = request
    asked += 1
    const mine = asked
    result.replaceChildren(el('p', 'muted', 'Looking…'))
    const answer = await askServer(request)
    if (mine !== asked) return
    const whose =
      request.handle === undefined ? { key: request.key ?? '' } : { handle: request.handle }
    result.replaceChildren(
      ...('problem' in answer
        ? [el('p', 'problem', answer.problem)]
        : resultOf({ found: answer.found, whose }, acts, again)),
    )
    if (isMoved) result.focus()
  }
  const again = (): void => {
    if (last !== undefined) void ask(last, false)
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (input.value === '') {
      result.replaceChildren(
        el(
          'p',
          'problem',
          'Type the key that the limiter limits, such as a user id or an address.',
        ),
      )
      input.focus()
    } else void ask({ limiter: select.value, key: input.value }, false)
  })
  const hint = el(
    'p',
    'muted small',
    'A lookup takes no units. You can also choose a key from a list.',
  )
  return {
    element: el('div', 'lookup', form, hint, result),
    update: ({ limiters }) =>
      fillSelect(
        select,
        limiters.map(({ id }) => id),
      ),
    lookUp(limiter, handle, key) {
      select.value = limiter
      input.value = ''
      input.placeholder = shown(key)
      void ask({ limiter, handle }, true)
    },
    again,
  }
}

function field(label: string, control: HTMLInputElement | HTMLSelectElement): HTMLElement {
  return el('div', 'field', el('label', { for: control.id }, label), control)
}

function fillSelect(select: HTMLSelectElement, ids: readonly string[]): void {
  const now = [...select.options].map(({ value }) => value)
  if (now.length === ids.length && ids.every((id, i) => id === now[i])) return
  const chosen = select.value
  select.replaceChildren(...ids.map((id) => el('option', { value: id }, shown(id))))
  if (ids.includes(chosen)) select.value = chosen
}

async function askServer(request: LookupRequest): Promise<{ found: Lookup } | { problem: string }> {
  try {
    const response = await fetch('lookup', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    })
    if (!response.ok) return { problem: shown(await messageOf(response), 300) }
    return { found: (await response.json()) as Lookup }
  } catch {
    return { problem: 'The server cannot be reached.' }
  }
}

function verdictOf(allowed: boolean | null): readonly [kind: string, words: string] {
  if (allowed === null) return ['fair', 'not known']
  return allowed ? ['good', 'would pass'] : ['bad', 'would be refused']
}

function resultOf(of: LookedUp, acts: LookupActs, again: () => void): HTMLElement[] {
  const { found } = of
  const [kind, words] = verdictOf(found.allowed)
  const verdict = el('span', { class: 'pill', 'data-kind': kind }, words)
  const header = el('header', '', el('h3', '', el('bdi', '', shown(found.key))), verdict)
  const why = el('p', 'why')
  setText(
    why,
    found.why === undefined
      ? `Of ${shown(found.limiter)}, at ${clock(Date.now())}.`
      : shown(found.why, 500),
  )
  const gauges = el('ul', 'gauges', ...found.policies.map(gauge))
  const unknown = el(
    'ul',
    'unknown small',
    ...found.unknown.map((text) => el('li', '', shown(text, 500))),
  )
  unknown.hidden = found.unknown.length === 0
  const hasBlocks = found.policies.some(({ block }) => block !== undefined)
  const doings = [
    button('Look again', again, 'button quiet'),
    button('Reset…', () => acts.reset(of), 'button quiet act'),
    ...(hasBlocks
      ? [
          button('Block…', () => acts.block(of), 'button quiet act'),
          button('Unblock…', () => acts.unblock(of), 'button quiet act'),
        ]
      : []),
    ...acts
      .lives()
      .map((live, _, { length }) =>
        button(
          length === 1 ? 'Override…' : `Override in ${shown(live.id)}…`,
          () => acts.override(live, of),
          'button quiet act',
        ),
      ),
  ]
  return [header, why, gauges, unknown, el('div', 'doings', ...doings)]
}
