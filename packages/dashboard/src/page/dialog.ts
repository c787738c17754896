// A dialog that says what will happen, and does it once the user confirms.

import { button, el, setText } from './dom.js'
import { shown } from './format.js'

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'number' | 'json' | 'check'
  readonly value: string
  readonly hint?: string
}

/** The fields' values; `on` for a checked box. */
export type Values = Readonly<Record<string, string>>

export interface Question {
  readonly title: string
  readonly fields: readonly Field[]
  /** What will happen with the fields' current values, in sentences. Throws an Error that says what
   *  is wrong with them, or a `Yet`. */
  readonly says: (values: Values) => string
  /** Asks the server to check the values. Resolves to what else will happen, as sentences; rejects
   *  with an Error that says what is wrong. Undefined: there is nothing to check. */
  readonly checks?: (values: Values) => Promise<string>
  /** The text to type as confirmation; undefined: a click is enough. */
  readonly typed: string | undefined
  /** The button's text. */
  readonly does: string
  /** Does what was confirmed. Resolves to what went wrong; undefined: nothing. */
  readonly run: (values: Values) => Promise<string | undefined>
}

/** Nothing is wrong, but something is still to be filled in. */
export class Yet extends Error {}

/** What is known about some values. */
interface Checked {
  readonly says: string
  readonly wrong?: string
  readonly isReady?: boolean
}

let opened = 0

/** Opens the dialog. It closes once the action is done, or on Escape. */
export function ask(question: Question): void {
  const id = `dialog-${++opened}`
  const inputs = question.fields.map((field) => ({
    field,
    input: inputOf(field, `${id}-${field.name}`),
  }))
  const valuesNow = (): Values =>
    Object.fromEntries(inputs.map(({ field, input }) => [field.name, heldBy(input)]))
  const says = el('p', { class: 'says', id: `${id}-says`, 'aria-live': 'polite' })
  const problem = el('p', { class: 'problem', role: 'alert' })
  const typed = el('input', {
    id: `${id}-typed`,
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const act = el('button', { type: 'submit', class: 'button main' }, question.does)
  const cancel = button('Cancel', () => dialog.close(), 'button quiet')
  /** By the values as text. */
  const checked = new Map<string, Checked>()
  const lookAt = async (text: string, values: Values): Promise<void> => {
    checked.set(text, { says: 'Checking…' })
    try {
      const says = question.says(values)
      const more = await question.checks?.(values)
      checked.set(text, { says: more ? `${says} ${more}` : says, isReady: true })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      checked.set(text, error instanceof Yet ? { says: why } : { says: '', wrong: why })
    }
    check()
  }
  const check = (): void => {
    const values = valuesNow()
    const text = JSON.stringify(values)
    if (!checked.has(text)) void lookAt(text, values)
    const { says: words = '', wrong = '', isReady = false } = checked.get(text) ?? {}
    setText(says, words)
    setText(problem, wrong)
    act.disabled = !isReady || (question.typed !== undefined && typed.value !== question.typed)
  }
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    act.disabled = true
    const wrong = await question.run(valuesNow())
    if (wrong === undefined) dialog.close()
    else {
      act.disabled = false
      setText(problem, wrong)
    }
  }
  const form = el(
    'form',
    { method: 'dialog', oninput: check, onsubmit: (event) => void submit(event) },
    el('h2', { id: `${id}-title` }, question.title),
    ...inputs.map(({ field, input }) => fieldBox(field, input)),
    says,
    ...(question.typed === undefined ? [] : [typedBox(question.typed, typed)]),
    problem,
    el('div', 'doings', cancel, act),
  )
  const dialog = el(
    'dialog',
    {
      'aria-labelledby': `${id}-title`,
      'aria-describedby': `${id}-says`,
      onclose: () => dialog.remove(),
    },
    form,
  )
  document.body.append(dialog)
  check()
  dialog.showModal()
}

type Input = HTMLInputElement | HTMLTextAreaElement

function inputOf({ kind, value, hint }: Field, id: string): Input {
  const described = hint === undefined ? undefined : `${id}-hint`
  const common = { id, 'aria-describedby': described, autocomplete: 'off', spellcheck: 'false' }
  if (kind === 'check') return el('input', { ...common, type: 'checkbox', checked: value === 'on' })
  const input =
    kind === 'json'
      ? el('textarea', { ...common, rows: 2 })
      : el('input', { ...common, type: 'text', inputmode: kind === 'number' ? 'decimal' : 'text' })
  input.value = value
  return input
}

function heldBy(input: Input): string {
  const isBox = input instanceof HTMLInputElement && input.type === 'checkbox'
  return isBox ? (input.checked ? 'on' : '') : input.value
}

function fieldBox({ label, hint, kind }: Field, input: Input): HTMLElement {
  const name = el('label', { for: input.id }, label)
  const about =
    hint === undefined ? undefined : el('p', { class: 'muted small', id: `${input.id}-hint` }, hint)
  return kind === 'check'
    ? el('div', 'field check', input, name, about)
    : el('div', 'field', name, input, about)
}

function typedBox(word: string, input: HTMLInputElement): HTMLElement {
  const label = el('label', { for: input.id }, 'Type ', el('code', '', shown(word)), ' to confirm')
  return el('div', 'field', label, input)
}
