// The script of a policy set: the Lua kernels that its policies use, and the driver. Plans with the same kernels in the same
// order share one.

import { createHash } from 'node:crypto'
import type { Kernel } from '../../algorithms/algorithm.js'
import { driverLua, prologueLua } from '../../algorithms/lua.generated.js'
import type { PolicySet } from '../../store.js'

export interface Script {
  readonly source: string
  /** What EVALSHA names it by. */
  readonly sha: string
}

const scripts = new Map<string, Script>()

/** The script that decides for these policies. There are four kernels, so few different ones exist. */
export function scriptOf({ policies }: PolicySet): Script {
  const kernels = policies.map(({ kernel }) => kernel as NonNullable<typeof kernel>)
  const id = kernels.map((kernel) => kernel.id).join()
  let script = scripts.get(id)
  if (script === undefined) {
    script = scriptFrom(kernels)
    scripts.set(id, script)
  }
  return script
}

function scriptFrom(kernels: readonly Pick<Kernel, 'id' | 'lua' | 'plainLua'>[]): Script {
  const [first] = kernels
  const plain = kernels.length === 1 ? first?.plainLua : undefined
  // Two arguments and a policy's three numbers: nothing is said of any group, so all are single requests of cost 1.
  const shortcut =
    plain === undefined ? '' : `if mode == 'consume' and #ARGV == 5 then\n${plain}end\n`
  const sources = new Map(kernels.map(({ id, lua }) => [id, lua]))
  const definitions = [...sources].map(([id, lua]) => `local ${id} = (function()\n${lua}\nend)()\n`)
  const list = `local kernels = { ${kernels.map(({ id }) => id).join(', ')} }\n`
  const source = [prologueLua, shortcut, ...definitions, list, driverLua].join('')
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
