// Elements from data. Text becomes text nodes and attributes, never markup.

type Child = Node | string
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** An HTML element. An attribute that is true is set; one that is false or undefined is not. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  dress(made, attributes)
  made.append(...children)
  return made
}

/** An SVG element. */
export function drawn<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Name] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name)
  dress(made, attributes)
  made.append(...children)
  return made
}

function dress(made: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    made.setAttribute(name, value === true ? '' : String(value))
  }
}

/** The element of the page with this id. */
export function byId<Made extends HTMLElement>(id: string): Made {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found as Made
}
