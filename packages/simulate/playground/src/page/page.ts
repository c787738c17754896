// The page: settings from the link, the results with them, and a link that shows the same.

import { DEFAULTS, linkOf, type Settings, settingsOf } from '../settings.js'
import { controls } from './controls.js'
import { byId, element } from './dom.js'
import { showResults } from './results.js'

/** Browsers refuse to change the address more than a few times a second. */
const LINK_AFTER_MS = 200

export function startPage(): void {
  /** What the address said when it was last read or written. */
  let link = location.hash
  const first = settingsOf(link)
  let settings = first.settings
  let drawing = 0
  let linking: ReturnType<typeof setTimeout> | undefined

  const draw = (): void => {
    cancelAnimationFrame(drawing)
    drawing = requestAnimationFrame(() => showResults(settings))
  }
  const changed = (next: Settings): void => {
    settings = next
    draw()
    showProblems([])
    clearTimeout(linking)
    linking = setTimeout(writeLink, LINK_AFTER_MS)
  }
  const writeLink = (): void => {
    // Somebody has put another link into the address, which the page will hear of next.
    if (location.hash !== link) return
    history.replaceState(null, '', linkOf(settings))
    link = location.hash
  }
  const set = controls(settings, changed)
  const follow = (): void => {
    clearTimeout(linking)
    link = location.hash
    const read = settingsOf(link)
    settings = read.settings
    set.show(settings)
    showProblems(read.problems)
    draw()
  }

  addEventListener('hashchange', follow)
  byId('reset').addEventListener('click', () => {
    set.show(DEFAULTS)
    changed(DEFAULTS)
  })
  copying(() => settings)
  byId('skip').addEventListener('click', (event) => {
    // Following it would replace the settings in the address.
    event.preventDefault()
    byId('results').focus()
  })
  showProblems(first.problems)
  showResults(settings)
}

function showProblems(problems: readonly string[]): void {
  const box = byId('problems')
  box.hidden = problems.length === 0
  box.replaceChildren(...problems.map((problem) => element('p', {}, problem)))
}

/** Copies the link; if the browser does not allow that, shows the link to be copied by hand. */
function copying(settings: () => Settings): void {
  const button = byId('copy')
  const field = byId<HTMLInputElement>('link')
  const said = byId('copied')
  button.addEventListener('click', async () => {
    const link = new URL(linkOf(settings()), location.href).href
    field.value = link
    try {
      await navigator.clipboard.writeText(link)
      said.textContent = 'Copied.'
    } catch {
      field.hidden = false
      field.select()
      said.textContent = 'Copy it from the field.'
    }
    setTimeout(() => {
      said.textContent = ''
    }, 4_000)
  })
}
