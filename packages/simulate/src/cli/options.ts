// The options of the commands, checked.

import { parseArgs } from 'node:util'
import { duration } from '@weir/core'
import { quote } from '@weir/core/internal'
import { misuse, misused, misusedOptions } from '../errors.js'
import { FIELD_NAMES, type FieldNames } from '../log/fields.js'
import { checkedFormat, type LogFormat } from '../log/formats.js'
import { timeOf } from '../log/times.js'

const COMMON = {
  policy: { type: 'string' },
  limiter: { type: 'string' },
  algorithm: { type: 'string' },
  key: { type: 'string' },
  format: { type: 'string' },
  fields: { type: 'string' },
  trusted: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  'max-keys': { type: 'string' },
  sample: { type: 'string' },
  json: { type: 'boolean' },
  markdown: { type: 'boolean' },
  html: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

const SIMULATE = {
  ...COMMON,
  limit: { type: 'string' },
  window: { type: 'string' },
  compare: { type: 'string' },
  'max-refused': { type: 'string' },
  'max-affected': { type: 'string' },
} as const

const SUGGEST = {
  ...COMMON,
  affect: { type: 'string' },
  'affect-requests': { type: 'string' },
  windows: { type: 'string' },
} as const

/** The options of both commands, as text. */
interface Texts {
  readonly policy?: string
  readonly limiter?: string
  readonly algorithm?: string
  readonly key?: string
  readonly format?: string
  readonly fields?: string
  readonly trusted?: string
  readonly from?: string
  readonly to?: string
  readonly 'max-keys'?: string
  readonly sample?: string
  readonly html?: string
  readonly limit?: string
  readonly window?: string
  readonly 'max-refused'?: string
  readonly 'max-affected'?: string
  readonly affect?: string
  readonly 'affect-requests'?: string
  readonly windows?: string
}

type Values = Texts & {
  readonly json?: boolean
  readonly markdown?: boolean
  readonly help?: boolean
}

/** The options that were given, and the logs. */
export interface Given {
  readonly values: Values
  readonly logs: readonly string[]
  /** The files of `--compare OLD NEW`. */
  readonly compare: readonly [before: string, after: string] | undefined
}

/** @throws {SimulateError} WEIR_INVALID_OPTION, with exit code 2 */
export function given(group: 'simulate' | 'suggest', args: readonly string[]): Given {
  const [rest, compare] = withoutCompare(args)
  const options = group === 'simulate' ? SIMULATE : SUGGEST
  try {
    const { values, positionals } = parseArgs({ args: rest, options, allowPositionals: true })
    return { values: values as Values, logs: positionals, compare }
  } catch (error) {
    throw misusedOptions(error, `; see weir ${group} --help`)
  }
}

/** Takes out `--compare OLD NEW` or `--compare OLD,NEW`: `parseArgs` has no option with two values.
 */
function withoutCompare(args: readonly string[]): [string[], Given['compare']] {
  const joined = args.findIndex((arg) => arg.startsWith('--compare='))
  if (joined >= 0) {
    const files = (args[joined] as string).slice('--compare='.length)
    return withoutCompare(args.toSpliced(joined, 1, '--compare', files))
  }
  const at = args.indexOf('--compare')
  if (at < 0) return [[...args], undefined]
  const [one = '', two = ''] = args.slice(at + 1)
  const [before = '', after] = one.split(',', 2)
  const files = after === undefined ? ([one, two] as const) : ([before, after] as const)
  if (files.some((file) => file === '' || file.startsWith('--'))) {
    const right = 'two policies files: --compare old.mjs new.mjs'
    throw misuse('--compare', args.slice(at + 1, at + 3).join(' '), right)
  }
  const rest = args.slice(at + (after === undefined ? 3 : 2))
  return [[...args.slice(0, at), ...rest], files]
}

/** Options that both commands have, as the library takes them. */
export interface LogSettings {
  readonly key: string | undefined
  readonly format: LogFormat | 'auto'
  readonly fields: FieldNames
  readonly trusted: readonly string[] | undefined
  readonly fromUs: number | undefined
  readonly toUs: number | undefined
  readonly maxKeys: number | undefined
  readonly sample: number | undefined
}

/** @throws {SimulateError} WEIR_INVALID_OPTION */
export function logSettings({ values }: Given): LogSettings {
  const fromUs = timeIn('--from', values.from)
  const toUs = timeIn('--to', values.to)
  if (fromUs !== undefined && toUs !== undefined && fromUs >= toUs)
    throw misuse('--to', values.to, `a time after --from, ${quote(values.from)}`)
  return {
    key: values.key,
    format: checkedFormat(values.format ?? 'auto'),
    fields: fieldsOf(values.fields),
    trusted: values.trusted?.split(','),
    fromUs,
    toUs,
    maxKeys: wholeIn('--max-keys', values['max-keys']),
    sample: sampleIn(values.sample),
  }
}

function fieldsOf(text: string | undefined): FieldNames {
  if (text === undefined) return {}
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf('=')
    const name = pair.slice(0, at)
    if (at > 0 && at < pair.length - 1 && FIELD_NAMES.includes(name as 'time'))
      return [name, pair.slice(at + 1)] as const
    const right = `NAME=PATH, with a name of ${FIELD_NAMES.join(', ')}: time=ts,key=user.id`
    throw misuse('--fields', pair, right)
  })
  return Object.fromEntries(pairs)
}

function timeIn(what: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text
  const minute = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d$/.test(text) ? `${text}:00` : day
  const timeUs = timeOf(minute)
  if (!Number.isNaN(timeUs)) return timeUs
  throw misuse(what, text, 'a time such as 2026-10-10T13:55:36+02:00, of UTC if it names no zone')
}

export function wholeIn(what: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw misuse(what, text, 'a whole number')
}

function sampleIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, oneOf] = /^1\/(\d{1,7})$/.exec(text) ?? []
  if (oneOf !== undefined) return Number(oneOf)
  throw misuse('--sample', text, 'a part of the keys such as 1/16')
}

/** `0.5%` as 0.005. */
export function shareIn(what: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, number] = /^(\d{1,3}(?:\.\d{1,9})?) ?%$/.exec(text) ?? []
  if (number !== undefined && Number(number) <= 100) return Number(number) / 100
  throw misuse(what, text, 'a percentage from 0% to 100%: 0.5%')
}

export function windowsIn(text: string | undefined): readonly string[] | undefined {
  const windows = text?.split(',')
  for (const window of windows ?? []) {
    try {
      duration(window as '1s')
    } catch {
      throw misuse('--windows', window, 'durations with commas between them: 1s,10s,1m,1h')
    }
  }
  return windows
}

/** @throws {SimulateError} if an option is given that a comparison would not heed */
export function checkCompared({ values }: Given): void {
  const unheeded = (['policy', 'limiter', 'limit', 'window', 'algorithm'] as const).find(
    (name) => values[name] !== undefined,
  )
  if (unheeded === undefined) return
  throw misuse(`--${unheeded}`, values[unheeded], '--compare without it: the two files have all')
}

/** @throws {SimulateError} if there is no log */
export function checkLogs(group: string, { logs }: Given): void {
  if (logs.length === 0) {
    const right = `a file, or - for standard input: weir ${group} access.log`
    throw misused('WEIR_INVALID_OPTION', `no log is given; give ${right}`)
  }
  const twice = logs.find((log, i) => logs.indexOf(log) !== i)
  if (twice !== undefined)
    throw misused('WEIR_INVALID_OPTION', `the log ${quote(twice)} is given twice; give it once`)
}
