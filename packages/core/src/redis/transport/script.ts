// The script of a policy set: the Lua kernels that its policies use, a loop for plain requests, and
// the driver. Policy sets with the same kernels in the same order share one. What a script writes
// for each mode is in algorithms/*/kernel.lua, and for refunds and resets in algorithms/driver.lua.
// Its other forms are in script-forms.ts.

import { createHash } from 'node:crypto'
import type { Kernel } from '../../algorithms/algorithm.js'
import { driverLua, modesLua, prologueLua } from '../../algorithms/lua.generated.js'
import type { PolicySet } from '../../store.js'
import { argumentsOf, inNumbers, numbersOf, plainLoop } from './plain-loop.js'
import {
  driverWithLiteralKeys,
  kernelWithLiteralKey,
  replyingInText,
  type ScriptForm,
} from './script-forms.js'

export interface Script {
  readonly source: string
  /** What EVALSHA names it by. */
  readonly sha: string
  /** The most requests in one call. */
  readonly mostRequests: number
}

/**
 * More would save neither side anything, and with several calls under way, Redis works on one while
 * this process makes the next: with 64 in flight, that is half as many decisions again a second.
 * The bound also limits how long one call keeps the server busy: some 0.1 ms for each policy.
 */
const MOST_REQUESTS = 32

const scripts = new Map<string, Script>()

/**
 * The script that decides for these policies. There are few kernels, so there are few scripts.
 * @param form default: for a server that takes any key, and a client that gives bytes
 */
export function scriptOf({ policies }: PolicySet, form: ScriptForm = {}): Script {
  const kernels = policies.map(({ kernel }) => kernel as NonNullable<typeof kernel>)
  const ids = kernels.map(({ id, periodAt }) => (periodAt === undefined ? id : `${id}@`))
  const { hasLiteralKeys = false, repliesInText = false } = form
  const notifies = policies.some(({ notifyAt }) => notifyAt !== undefined)
  const id = `${ids} ${hasLiteralKeys} ${repliesInText} ${notifies}`
  const script = scripts.get(id) ?? scriptIn(form, kernels, notifies)
  scripts.set(id, script)
  return script
}

type Made = Pick<Kernel, 'id' | 'lua' | 'periodAt'>

function scriptIn(
  { hasLiteralKeys, repliesInText }: ScriptForm,
  kernels: readonly Made[],
  notifies: boolean,
): Script {
  const sourceOf = hasLiteralKeys ? sourceWithLiteralKeys : sourceFrom
  const made = sourceOf(kernels, `local notifies = ${notifies}\n`)
  const source = repliesInText ? replyingInText(made) : made
  const sha = createHash('sha1').update(source).digest('hex')
  return { source, sha, mostRequests: hasLiteralKeys ? 1 : MOST_REQUESTS }
}

/** @param more locals that the driver reads besides the counters */
function sourceFrom(kernels: readonly Made[], more: string): string {
  const used = new Map(kernels.map(({ id, lua }) => [id, lua]))
  const shared = [...used.values()].map((lua) => lua.shared)
  const definitions = [...used].map(([id, lua]) => `local ${id} = ${lua.kernel}`)
  const luas = kernels.map(({ lua }) => lua)
  const loop = plainLoop(luas)
  const [now, later] = prologueFor(shared.join('') + loop)
  const ids = kernels.map(({ id }) => id)
  const plain = [numbersOf(luas), now, ...guardsOf(kernels), ...shared, loop]
  const driver = [later, ...definitions, countersOf(kernels, ids), more, modesLua, driverLua]
  return [...plain, ...driver].join('')
}

/** Each policy has a copy of its kernel, with its key in it. The driver answers all requests. */
function sourceWithLiteralKeys(kernels: readonly Made[], more: string): string {
  const names = kernels.map((_, i) => `policy${i + 1}`)
  const definitions = kernels.map(({ lua: { shared, kernel } }, i) => {
    const own = kernelWithLiteralKey(`${shared}return ${kernel}`, i + 1)
    return `local ${names[i]} = (function()\n${own}end)()\n`
  })
  const [prologue, driver] = [prologueLua, driverLua].map((lua) =>
    driverWithLiteralKeys(lua, kernels.length),
  )
  const before = [
    numbersOf(kernels.map(({ lua }) => lua)),
    prologue,
    ...guardsOf(kernels),
    ...definitions,
  ]
  return [...before, countersOf(kernels, names), more, modesLua, driver].join('')
}

/** @param names what makes the counter of each policy */
function countersOf(kernels: readonly Made[], names: readonly string[]): string {
  const given = argumentsOf(kernels.map(({ lua }) => lua))
  const made = given.map((texts, i) => `${names[i]}(${inNumbers(texts)})`)
  const begins = kernels.some(({ lua }) => !lua.isPlain)
  return `local counters = { ${made.join(', ')} }\nlocal begins = ${begins}\n`
}

function guardsOf(kernels: readonly Made[]): readonly string[] {
  const given = argumentsOf(kernels.map(({ lua }) => lua))
  return given.map((texts, i) => (kernels[i]?.periodAt === undefined ? '' : guard(texts)))
}

/** Outside the period that a policy was given, the script replies with the server's time and
 *  nothing else, so that the call is made again with that time's period. */
function guard([, start, end]: readonly string[]): string {
  const isOutside = `us < ${start} * 1000 or us >= ${end} * 1000`
  return `\nif ${isOutside} then return cmsgpack.pack({ us }) end\n`
}

/** Where the prologue looks a function up. */
const LOOKUP = /^local (\w+) = (redis|math|string)\.\w+$/

/** The prologue's lines: first those that a text needs, then the lookups of functions that it does
 *  not use. */
function prologueFor(text: string): [now: string, later: string] {
  const words = new Set(text.match(/\w+/g))
  const isLater = (line: string): boolean => {
    const name = LOOKUP.exec(line)?.[1]
    return name !== undefined && name !== 'call' && !words.has(name)
  }
  const lines = prologueLua.split('\n')
  const later = lines.filter(isLater).map((line) => `${line}\n`)
  return [lines.filter((line) => !isLater(line)).join('\n'), later.join('')]
}

/** Whether an error says that the server does not know the script, so nothing has run. ioredis says
 *  so in other words if the call was redirected as often as it may be. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && /^NOSCRIPT|Last error: ReplyError: NOSCRIPT/.test(error.message)
}
