// Settings that change under one name, in several processes on one Redis.
//
// WEIR_WEEKLY=1 takes 100,000 steps, from seeds that it draws.

import { seedOf, stepsOf } from '@weir/testkit'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import type { RedisStore } from '../../src/index.js'
import { type Ask, makers, recipes, takeChanges } from '../algorithms/change-walk.js'
import { singleClient, strictStore } from './clients.js'

const STEPS = stepsOf(5_000, 100_000) / Object.keys(makers).length

describe.each(Object.entries(makers))('%s', (name, make) => {
  test('in Redis: for each time scale, as much passes as the most generous limit alone allows, and one limit', {
    timeout: 120_000 + STEPS * 20,
  }, async () => {
    let steps = 0
    let runs = 0
    const property = fc.asyncProperty(recipes, async (recipe) => {
      runs += 1
      const limiter = `change-${name.replaceAll(' ', '-')}-${runs}`
      const clock = { us: 1_800_000_000_000_000, nowUs: () => clock.us }
      const stores = [0, 1, 2].map(() => strictStore(singleClient(), { clock, instances: 1 }))
      const ask: Ask = async (process, group, nowUs) => {
        clock.us = nowUs
        return (await (stores[process] as RedisStore).decide(group)).granted > 0
      }
      steps += await takeChanges(recipe, make, ask, limiter)
      await Promise.all(stores.map((store) => store.close()))
    })
    for (let seed = seedOf(1); steps < STEPS; seed += 1)
      await fc.assert(property, { numRuns: 5, seed })
  })
})
