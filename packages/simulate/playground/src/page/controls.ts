// The settings as radio buttons and sliders. A slider stops at round numbers; the field beside it
// takes any whole number.

import {
  type CountName,
  countOf,
  RANGES,
  type Settings,
  TRAFFICS,
  type TrafficName,
  WINDOW_NAMES,
} from '../settings.js'
import { byId, element } from './dom.js'

const STOPS = [1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1_000]
const FEW = Array.from({ length: RANGES.windows.most }, (_, i) => i + 1)

interface Counted {
  readonly name: CountName
  readonly label: string
  readonly unit: string
  readonly stops: readonly number[]
}

const TRAFFIC_COUNTS: readonly Counted[] = [
  { name: 'rate', label: 'Rate', unit: 'requests a window', stops: STOPS },
  { name: 'windows', label: 'Duration', unit: 'windows', stops: FEW },
]
const POLICY_COUNTS: readonly Counted[] = [
  { name: 'limit', label: 'Limit', unit: 'requests a window', stops: STOPS },
  { name: 'burst', label: 'Burst', unit: 'capacity of the buckets', stops: STOPS },
]

const TRAFFIC_TEXTS: Readonly<Record<TrafficName, readonly [name: string, says: string]>> = {
  steady: ['Steady', 'evenly spaced'],
  bursts: ['Bursts', 'two short ones in each window'],
  edges: ['Attacker', 'all around the edges of windows'],
  keys: ['Two keys', 'one steady, one in bursts'],
  poisson: ['Poisson', 'independent of each other'],
}

export interface Controls {
  /** Shows settings that come from elsewhere, such as a link. */
  show(settings: Settings): void
}

/** @param onChange called with the settings when the user changes one */
export function controls(first: Settings, onChange: (settings: Settings) => void): Controls {
  let settings = first
  const shows: ((settings: Settings) => void)[] = []
  const set = (part: Partial<Settings>): void => {
    settings = { ...settings, ...part }
    for (const show of shows) show(settings)
    onChange(settings)
  }
  const counted = (each: Counted): HTMLElement => {
    const { row, show } = counter(each, (value) => set({ [each.name]: value }))
    shows.push(({ [each.name]: value }) => show(value))
    return row
  }

  const traffic = TRAFFICS.map((name) => radio(name, () => set({ traffic: name })))
  shows.push((now) => {
    for (const { input } of traffic) input.checked = input.value === now.traffic
  })
  byId('traffic').append(...traffic.map(({ label }) => label))
  byId('traffic-counts').append(...TRAFFIC_COUNTS.map(counted), seedRow(set, shows))
  byId('policy-counts').append(
    counted(POLICY_COUNTS[0] as Counted),
    windowRow(set, shows),
    counted(POLICY_COUNTS[1] as Counted),
  )
  for (const show of shows) show(settings)
  return {
    show(others) {
      settings = others
      for (const show of shows) show(settings)
    },
  }
}

function radio(name: TrafficName, onChoose: () => void) {
  const [title, says] = TRAFFIC_TEXTS[name]
  const input = element('input', { type: 'radio', name: 'traffic', value: name })
  input.addEventListener('change', onChoose)
  const text = element('span', {}, element('b', {}, title), ' ', element('small', {}, says))
  return { input, label: element('label', { class: 'choice' }, input, text) }
}

/** A slider over the stops, and a field for any number in the range. */
function counter({ name, label, unit, stops }: Counted, onSet: (value: number) => void) {
  const { least, most } = RANGES[name]
  const id = `count-${name}`
  const slider = element('input', {
    type: 'range',
    min: 0,
    max: stops.length - 1,
    step: 1,
    'aria-label': `${label}, ${unit}`,
  })
  const field = element('input', { type: 'number', id, min: least, max: most, step: 1 })
  let current = least
  slider.addEventListener('input', () => onSet(stops[Number(slider.value)] as number))
  field.addEventListener('input', () => {
    const value = countOf(name, field.value)
    field.setAttribute('aria-invalid', String(value === undefined))
    if (value !== undefined) onSet(value)
  })
  const show = (value: number): void => {
    current = value
    slider.value = String(nearest(stops, value))
    slider.setAttribute('aria-valuetext', `${value} ${unit}`)
    // Does not overwrite what the user types while it means the same number.
    if (Number(field.value) !== value || document.activeElement !== field)
      field.value = String(value)
    field.setAttribute('aria-invalid', 'false')
  }
  // On leaving a field with an invalid value, shows the value that holds.
  field.addEventListener('change', () => {
    if (countOf(name, field.value) === undefined) field.value = String(current)
    field.setAttribute('aria-invalid', 'false')
  })
  const text = element('label', { for: id }, label, ' ', element('small', {}, unit))
  return { row: element('div', { class: 'setting' }, text, slider, field), show }
}

function nearest(stops: readonly number[], value: number): number {
  const distances = stops.map((stop) => Math.abs(stop - value))
  return distances.indexOf(Math.min(...distances))
}

type Set = (part: Partial<Settings>) => void
type Shows = ((settings: Settings) => void)[]

function windowRow(set: Set, shows: Shows): HTMLElement {
  const slider = element('input', {
    type: 'range',
    id: 'window',
    min: 0,
    max: WINDOW_NAMES.length - 1,
    step: 1,
  })
  const output = element('output', { for: 'window' })
  slider.addEventListener('input', () => {
    const window = WINDOW_NAMES[Number(slider.value)]
    if (window !== undefined) set({ window })
  })
  shows.push(({ window }) => {
    slider.value = String(WINDOW_NAMES.indexOf(window))
    slider.setAttribute('aria-valuetext', window)
    output.textContent = window
  })
  return element(
    'div',
    { class: 'setting' },
    element('label', { for: 'window' }, 'Window'),
    slider,
    output,
  )
}

/** The seed's row, disabled for traffic without random numbers. */
function seedRow(set: Set, shows: Shows): HTMLElement {
  const button = element('button', { type: 'button', id: 'redraw' }, 'Draw again')
  const output = element('output', {})
  let seed = 1
  button.addEventListener('click', () => set({ seed: (seed % RANGES.seed.most) + 1 }))
  shows.push((now) => {
    seed = now.seed
    output.textContent = String(seed)
    button.disabled = now.traffic === 'steady' || now.traffic === 'edges'
  })
  return element(
    'div',
    { class: 'setting' },
    element('span', {}, 'Seed ', element('small', {}, 'of the random numbers')),
    button,
    output,
  )
}
