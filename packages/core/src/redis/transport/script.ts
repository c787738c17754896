// The script of a policy set: the Lua kernels that its policies use, a loop for plain requests, and
// the driver. Policy sets with the same kernels in the same order share one. What a script writes
// for each mode is in algorithms/*/kernel.lua, and for refunds and resets in algorithms/driver.lua.

import { createHash } from 'node:crypto'
import type { Kernel } from '../../algorithms/algorithm.js'
import { driverLua, modesLua, prologueLua } from '../../algorithms/lua.generated.js'
import type { PolicySet } from '../../store.js'
import { argumentsOf, inNumbers, plainLoop } from './plain-loop.js'

export interface Script {
  readonly source: string
  /** What EVALSHA names it by. */
  readonly sha: string
}

const scripts = new Map<string, Script>()

/**
 * The script that decides for these policies. There are four kernels, so few different ones exist.
 */
export function scriptOf({ policies }: PolicySet): Script {
  const kernels = policies.map(({ kernel }) => kernel as NonNullable<typeof kernel>)
  const id = kernels.map(({ id, periodAt }) => (periodAt === undefined ? id : `${id}@`)).join()
  const script = scripts.get(id) ?? scriptFrom(kernels)
  scripts.set(id, script)
  return script
}

function scriptFrom(kernels: readonly Pick<Kernel, 'id' | 'lua' | 'periodAt'>[]): Script {
  const used = new Map(kernels.map(({ id, lua }) => [id, lua]))
  const shared = [...used.values()].map((lua) => lua.shared)
  const definitions = [...used].map(([id, lua]) => `local ${id} = ${lua.kernel}`)
  const given = argumentsOf(kernels.map(({ lua }) => lua))
  const made = given.map((texts, i) => `${kernels[i]?.id}(${inNumbers(texts)})`)
  const begins = kernels.some(({ lua }) => !lua.isPlain)
  const counters = `local counters = { ${made.join(', ')} }\nlocal begins = ${begins}\n`
  const loop = plainLoop(kernels.map(({ lua }) => lua))
  const [now, later] = prologueFor(shared.join('') + loop)
  const guards = given.map((texts, i) => (kernels[i]?.periodAt === undefined ? '' : guard(texts)))
  const plain = [now, ...guards, ...shared, loop]
  const parts = [...plain, later, ...definitions, counters, modesLua, driverLua]
  const source = `local numbers = ${given.flat().length}\n${parts.join('')}`
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}

/** Outside of the period that a policy was given: the time and nothing else, so that the call is
 *  made again with the period of that time. */
function guard([, start, end]: readonly string[]): string {
  const isOutside = `us < ${start} * 1000 or us >= ${end} * 1000`
  return `\nif ${isOutside} then return cmsgpack.pack({ us }) end\n`
}

/** Where the prologue looks a function up. */
const LOOKUP = /^local (\w+) = (redis|math|string)\.\w+$/

/** The prologue, without the functions that a text does not use; and these. */
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
