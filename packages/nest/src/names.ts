// Names for limiters that nobody has named, made of their class and method.

import type { Type } from '@nestjs/common'
import type { ModulesContainer } from '@nestjs/core'
import { declaredOn } from './decorators.js'
import { classesOf, isRoute, targetsOf } from './set-up.js'

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
