// The driver's script, run by the TypeScript kernels. The arguments and the packed reply are those
// of a real server. The source of a script tells which kernels it uses. test/driver-script.test.ts
// compares it with a real server, call by call.

import { type Kernel, lifeUsOf } from '../../../../packages/core/src/algorithms/algorithm.js'
import {
  type Counter,
  type CounterRequest,
  decide,
  FORGOTTEN_MS,
  type Reading,
} from '../../../../packages/core/src/algorithms/driver.js'
import {
  CALL_MODES,
  type CallMode,
  type Mode,
  reserves,
  tellsUsed,
} from '../../../../packages/core/src/algorithms/modes.js'
import { kernels } from '../../../../packages/core/src/testing/algorithms.js'
import type { Keyspace } from './keyspace.js'
import { packNumbers } from './pack.js'

const KERNELS: ReadonlyMap<string, Kernel> = new Map(
  Object.values(kernels).map((kernel) => [kernel.id, kernel]),
)

/** Finds where the source of a script makes its counters, and each of them. */
const COUNTERS = /^local counters = \{ (.*) \}$/m
const COUNTER = /(\w+)\(([^()]*)\)/g

/** With an injected clock, TTLs are longer by this much: see prologue.lua. */
const SLACK_MS = 600_000

interface DriverScript {
  /** One of the policies has a `notifyAt`. */
  readonly notifies: boolean
  readonly counters: readonly {
    readonly kernel: Kernel
    /** How many numbers the counter is given. */
    readonly width: number
    /** Its window is a calendar period, whose start and end are given. */
    readonly isPeriod: boolean
  }[]
}

/** Returns undefined for another script. */
export function driverScriptOf(source: string): DriverScript | undefined {
  const made = COUNTERS.exec(source)?.[1]
  if (made === undefined) return undefined
  const counters = [...made.matchAll(COUNTER)].map(([, id = '', given = '']) => {
    const kernel = KERNELS.get(id)
    if (kernel === undefined) throw new Error(`a script uses a kernel ${id} that has no twin here`)
    const numbers = given.split(',').map((text) => text.trim().replace(/ \+ 0$/, ''))
    const isPeriod = source.includes(`\nif us < ${numbers[1]} * 1000 or us >= `)
    return { kernel, width: numbers.length, isPeriod }
  })
  return { counters, notifies: source.includes('\nlocal notifies = true\n') }
}

/** What a script uses of the server that runs it. */
export interface Place {
  readonly keyspace: Keyspace
  readonly nowUs: number
  /** Called for each request, with the number of times that it was granted. */
  readonly decided?: ((mode: CallMode, request: KeyedRequest, granted: number) => void) | undefined
}

/** Runs the script: `keys` and `args` as Redis passes them. Returns the packed reply. */
export function runDriver(
  script: DriverScript,
  keys: readonly string[],
  args: readonly string[],
  { keyspace, nowUs: ownUs, decided }: Place,
): Buffer {
  let at = 0
  const numbers = script.counters.map(({ width }) => {
    at += width
    return Array.from({ length: width }, (_, i) => Number(args[at - width + i] ?? 0))
  })
  const given = args[at] ?? ''
  const nowUs = given === '' ? ownUs : Number(given)
  const slackMs = given === '' ? 0 : SLACK_MS
  const mode = (args[at + 1] ?? 'consume') as CallMode
  const isOutside = script.counters.some(({ isPeriod }, i) => {
    const [, startMs = 0, endMs = 0] = numbers[i] as number[]
    return isPeriod && (nowUs < startMs * 1_000 || nowUs >= endMs * 1_000)
  })
  if (isOutside) return packNumbers([nowUs])
  const counters = script.counters.map(({ kernel, isPeriod }, i): Counter => {
    const own = numbers[i] as number[]
    const used = isPeriod ? periodKernel(kernel, own[2] as number) : kernel
    return {
      kernel: used,
      scratch: kernel.prepare(own),
      table: keyspace.tableOf(used, slackMs),
      slot: -1,
    }
  })
  const readings = counters.map((): Reading => ({ left: 0, waitMs: 0, resetUs: 0 }))
  const isMore = script.notifies && tellsUsed(mode)
  const reply = [nowUs]
  for (const request of requestsOf(mode, counters.length, keys, args.slice(at + 2))) {
    const foreign = counters.findIndex(({ kernel }, i) =>
      keyspace.isForeign(request.keys[i] as string, kernel),
    )
    if (foreign >= 0) {
      reply.push(-1 - foreign, ...readings.flatMap(() => (isMore ? [0, 0, 0, 0] : [0, 0, 0])))
      continue
    }
    const granted =
      mode === 'reset'
        ? reset(counters, request, keyspace, nowUs, readings)
        : decide(counters, request.keys, request, nowUs, readings)
    decided?.(mode, request, granted)
    reply.push(granted)
    for (const { used, left, waitMs, resetUs } of readings) {
      reply.push(left, waitMs, resetUs)
      if (isMore) reply.push(used as number)
    }
  }
  return packNumbers(reply)
}

/** The kernel for a window that ends with its calendar period: see calendarKernel. */
function periodKernel(kernel: Kernel, endMs: number): Kernel {
  return {
    ...kernel,
    read(scratch, cells, offset, nowUs) {
      Object.assign(scratch, { spanMs: endMs - Math.floor(nowUs / 1_000), aligned: false })
      kernel.read(scratch, cells, offset, nowUs)
    },
  }
}

/** A request of a call. */
export interface KeyedRequest extends CounterRequest {
  readonly keys: readonly string[]
}

/** The requests of a call, as driver.lua describes its arguments. */
function requestsOf(
  mode: CallMode,
  policies: number,
  keys: readonly string[],
  args: readonly string[],
): KeyedRequest[] {
  const { marks, settles, correction } = CALL_MODES[mode]
  const stride = marks ? 2 * policies : policies
  const isPlain = args.length < keys.length / stride + 1 && !(reserves(mode) || correction)
  const requests: KeyedRequest[] = []
  let at = 0
  const some = (): number[] => {
    at += policies
    return args.slice(at - policies, at).map(Number)
  }
  for (let base = 0; base < keys.length; base += stride) {
    const own = keys.slice(base, base + policies)
    const count = args[at] === undefined ? 1 : Number(args[at])
    at += 1
    if (isPlain) {
      requests.push({ mode: modeOf(mode), keys: own, costs: own.map(() => 1), count })
      continue
    }
    const costs = some()
    let limits: Partial<CounterRequest> = {}
    if (reserves(mode)) {
      const [least = '1', patience = ''] = args.slice(at, at + 2)
      at += 2
      const ms = patience === '' ? undefined : Number(patience)
      const [maxWaitMs, aheadMs] = mode === 'lease' ? [undefined, ms] : [ms, undefined]
      limits = { atLeast: Number(least), maxWaitMs, aheadMs, keep: some() }
    }
    if (correction !== undefined) {
      const untilUs = args.slice(at, at + policies).map(timeOf)
      at += policies
      limits = { untilUs }
      if (marks) {
        limits = { untilUs, seenUs: timeOf(args[at] as string) }
        at += 1
      }
      if (mode === 'restore') {
        limits = { ...limits, lossUs: timeOf(args[at] as string) }
        at += 1
      }
      if (settles) {
        const charged = args.slice(at, at + policies)
        at += policies
        if (!charged.includes('')) limits = { ...limits, charged: charged.map(Number) }
      }
    }
    requests.push({ mode: modeOf(mode), keys: own, costs, count, ...limits })
  }
  return requests
}

function timeOf(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

function modeOf(mode: CallMode): Mode {
  if (mode === 'reserve' || mode === 'lease') return 'consume'
  return mode === 'preview' ? 'peek' : (mode as Mode)
}

/** Deletes the keys of a request. */
function reset(
  counters: readonly Counter[],
  { keys, count = 1 }: KeyedRequest,
  keyspace: Keyspace,
  nowUs: number,
  readings: readonly Reading[],
): number {
  counters.forEach(({ kernel, scratch, table }, i) => {
    const key = keys[i] as string
    table.read(scratch, key, nowUs)
    const left = Math.max(0, scratch.limit - kernel.used(scratch))
    const resetUs = kernel.resetAfterUs(scratch)
    const waitMs = left > 0 ? 0 : scratch.limit < 1 ? -1 : kernel.retryAfterMs(scratch, 1)
    Object.assign(readings[i] as Reading, { left, waitMs, resetUs })
    keyspace.delete(key)
    const lifeUs = lifeUsOf(kernel, scratch)
    const lifeMs = Math.max(Math.ceil(lifeUs / 1_000), FORGOTTEN_MS)
    table.marks.set(key, { forgottenUs: nowUs, gaveUs: nowUs }, nowUs / 1_000, lifeMs)
  })
  return count
}
