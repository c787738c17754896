// The few DOM calls that the page makes. Text from outside becomes a text node or an attribute's
// value, never markup.

type Listener = (event: Event) => void
/** Attributes by name; a function named `on...` listens to that event. */
type Props = Readonly<Record<string, string | number | boolean | Listener | undefined>>
type Child = Node | string | undefined

/** A piece of the page, and the function that updates it. */
export interface Part<T> {
  readonly element: HTMLElement
  readonly update: (data: T) => void
}

/** A new element. If `props` is a text, it is the class. Attributes that are false or undefined are
 *  left out. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props | string = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  const given = typeof props === 'string' ? { class: props } : props
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else setAttribute(element, name, value)
  }
  for (const child of children) if (child !== undefined) element.append(child)
  return element
}

/** Sets an attribute; removes it if the value is false or undefined. */
export function setAttribute(
  element: Element,
  name: string,
  value: string | number | boolean | undefined,
): void {
  if (value === undefined || value === false) {
    element.removeAttribute(name)
    return
  }
  const text = value === true ? '' : String(value)
  if (element.getAttribute(name) !== text) element.setAttribute(name, text)
}

/** Sets an element's text. Leaves an unchanged text alone, so that a selection in it survives. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** The element of the page with this id. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no #${id}`)
  return element
}

/** A button that acts at once or opens a dialog. */
export function button(text: string, onclick: () => void, kind = 'button'): HTMLButtonElement {
  return el('button', { type: 'button', class: kind, onclick }, text)
}

/** A button that opens a dialog about the row that it stands in, as the row is then. */
export function rowButton<T>(
  textOf: (row: T) => string,
  act: (row: T) => void,
  labelOf: (row: T) => string,
): Part<T> {
  let latest: T | undefined
  const run = (): void => {
    if (latest !== undefined) act(latest)
  }
  const element = button('', run, 'button quiet act')
  return {
    element,
    update(row) {
      latest = row
      setText(element, textOf(row))
      setAttribute(element, 'aria-label', labelOf(row))
    },
  }
}

/** A part for each row, kept by key, so that focus and selection survive an update. */
export function rowsOf<T>(
  parent: HTMLElement,
  keyOf: (row: T) => string,
  make: (row: T) => Part<T>,
): (rows: readonly T[]) => void {
  const parts = new Map<string, Part<T>>()
  return (rows) => {
    const keys = new Set(rows.map(keyOf))
    for (const [key, { element }] of parts) {
      if (keys.has(key)) continue
      element.remove()
      parts.delete(key)
    }
    let place: ChildNode | null = parent.firstChild
    for (const row of rows) {
      const key = keyOf(row)
      const part = parts.get(key) ?? make(row)
      parts.set(key, part)
      if (part.element === place) place = place.nextSibling
      else parent.insertBefore(part.element, place)
      // In the page by now, so that a chart finds its width and colours.
      part.update(row)
    }
  }
}

/** True while somebody points at the element or has the focus in it: then rows keep their
 *  places. */
export function isHeld(element: Element): boolean {
  return element.matches(':hover, :focus-within')
}
