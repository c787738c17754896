// Names for limiters that nobody has named, made of their class and method.

import { createHash } from 'node:crypto'
import type { Type } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { declaredOn } from './decorators.js'
import { classesOf, isRoute, targetsOf } from './set-up.js'

const LONGEST = 64
const HASH_LENGTH = 10

/**
 * The names of classes in names of limiters. Where several classes with handlers have one name,
 * their modules distinguish them: `AdminModule.Users`.
 */
export function namesOfClasses(modules: ModulesContainer): ReadonlyMap<Type, string> {
  const modulesOf = new Map<Type, string[]>()
  for (const [{ metatype }, owner] of classesOf(modules)) {
    const isLimited = targetsOf(owner).some(
      (target) => isRoute(target) || declaredOn(owner, target.method) !== undefined,
    )
    if (!isLimited && declaredOn(owner) === undefined) continue
    modulesOf.set(owner, [...(modulesOf.get(owner) ?? []), metatype.name])
  }
  const all = [...modulesOf].map(([owner, modules]) => {
    // Always the same one of several modules, in whatever order they are imported.
    const [module] = modules.sort()
    return { owner, plain: owner.name, apart: `${module}.${owner.name}` }
  })
  const plain = countsOf(all.map((each) => each.plain))
  const apart = countsOf(all.map((each) => each.apart))
  return new Map(
    all.map((each) => {
      const isAlone = plain.get(each.plain) === 1
      return [each.owner, isAlone || apart.get(each.apart) !== 1 ? each.plain : each.apart]
    }),
  )
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** The text itself if it is a valid name; else its beginning, and a hash of the whole. */
export function limiterName(text: string): string {
  if (text.length <= LONGEST && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text)) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)
  const plain = text.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '')
  const begin = plain.slice(0, LONGEST - HASH_LENGTH - 1)
  return begin === '' ? hash : `${begin}-${hash}`
}
