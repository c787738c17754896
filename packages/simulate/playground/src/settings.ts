// The settings that a link carries: all that the picture depends on, and nothing else. A link may
// come from anybody, so it is read strictly, and none of its text is ever shown.

export const TRAFFICS = ['steady', 'bursts', 'edges', 'keys', 'poisson'] as const
export type TrafficName = (typeof TRAFFICS)[number]

/** The windows that the page offers, in ms, by the durations that policies take. */
export const WINDOWS = {
  '1s': 1_000,
  '5s': 5_000,
  '10s': 10_000,
  '30s': 30_000,
  '1m': 60_000,
  '5m': 300_000,
  '15m': 900_000,
  '1h': 3_600_000,
} as const
export type WindowName = keyof typeof WINDOWS
export const WINDOW_NAMES = Object.keys(WINDOWS) as WindowName[]

export interface Settings {
  readonly traffic: TrafficName
  /** Requests in a window. */
  readonly rate: number
  /** How long the traffic lasts, in windows. */
  readonly windows: number
  /** The seed of the traffic's random numbers. */
  readonly seed: number
  readonly limit: number
  readonly window: WindowName
  /** The capacity of the buckets. */
  readonly burst: number
}

/** The range of a whole number. */
export interface Range {
  readonly least: number
  readonly most: number
}

export type CountName = 'rate' | 'windows' | 'seed' | 'limit' | 'burst'
export const RANGES: Readonly<Record<CountName, Range>> = {
  rate: { least: 1, most: 1_000 },
  windows: { least: 1, most: 10 },
  seed: { least: 1, most: 9_999 },
  limit: { least: 1, most: 1_000 },
  burst: { least: 1, most: 1_000 },
}

export const DEFAULTS: Settings = {
  traffic: 'edges',
  rate: 40,
  windows: 3,
  seed: 1,
  limit: 20,
  window: '1m',
  burst: 20,
}
const NAMES = Object.keys(DEFAULTS) as (keyof Settings)[]

/** The link of the settings, from `#` on. */
export function linkOf(settings: Settings): string {
  return `#${NAMES.map((name) => `${name}=${settings[name]}`).join('&')}`
}

export interface Read {
  readonly settings: Settings
  /** What was wrong with the link, in sentences that repeat none of its text. */
  readonly problems: readonly string[]
}

/** Longer than any link that this page makes. */
const LONGEST = 300

/** A link's settings, with DEFAULTS for those that are missing or wrong. Never throws. */
export function settingsOf(link: string): Read {
  const text = link.startsWith('#') ? link.slice(1) : link
  if (text === '') return { settings: DEFAULTS, problems: [] }
  if (text.length > LONGEST) {
    const problem =
      'The link is longer than any that this page makes, so all settings are defaults.'
    return { settings: DEFAULTS, problems: [problem] }
  }
  const { values, strangers } = valuesIn(text)
  const problems: string[] = []
  if (strangers > 0) problems.push('The link says things that this page does not know.')
  const settings: Record<string, unknown> = { ...DEFAULTS }
  for (const [name, value] of values) {
    const read = readAs(name, value)
    if (read !== undefined) settings[name] = read
    else problems.push(`The link’s ${name} is not ${rightOf(name)}, so it is ${DEFAULTS[name]}.`)
  }
  return { settings: settings as unknown as Settings, problems }
}

/** The first value of each name, and how many parts of the link are none of these. */
function valuesIn(text: string): {
  readonly values: ReadonlyMap<keyof Settings, string>
  readonly strangers: number
} {
  const values = new Map<keyof Settings, string>()
  let strangers = 0
  for (const part of text.split('&')) {
    const at = part.indexOf('=')
    const name = NAMES.find((each) => each === part.slice(0, Math.max(0, at)))
    if (name === undefined || values.has(name)) strangers += 1
    else values.set(name, part.slice(at + 1))
  }
  return { values, strangers }
}

/** The setting's value. Undefined: the text is not a valid one. */
function readAs(name: keyof Settings, value: string): string | number | undefined {
  if (name === 'traffic') return TRAFFICS.find((each) => each === value)
  if (name === 'window') return WINDOW_NAMES.find((each) => each === value)
  return countOf(name, value)
}

/** A whole number in the setting's range. Undefined: the text is not one. */
export function countOf(name: CountName, text: string): number | undefined {
  const { least, most } = RANGES[name]
  const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  return count >= least && count <= most ? count : undefined
}

function rightOf(name: keyof Settings): string {
  if (name === 'traffic') return `one of ${TRAFFICS.join(', ')}`
  if (name === 'window') return `one of ${WINDOW_NAMES.join(', ')}`
  const { least, most } = RANGES[name]
  return `a whole number from ${least} to ${most}`
}
