// @ts-check
import { storeConformance } from '@weir/core/testing'
import { isWeekly } from '@weir/testkit'
import { describe, inject, test, vi } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'
import { PATIENT } from './shared.js'

const connectionString = inject('postgresUrls').conformance

// Stops the sweeps: each case has its own clock, and would sweep away the rows of others.
vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })

/** Walks of hundreds of decisions. How an algorithm decides does not depend on the store, so for
 *  each change one algorithm walks, and weekly all of them do. */
const isWalk = /** @param {string} name */ (name) => /walk|in any order/.test(name)
const isAsked = /** @param {string} name */ (name) =>
  isWeekly || !isWalk(name) || name.startsWith('fixed window, aligned')

describe.concurrent('a store on PostgreSQL keeps the contract of a store', () => {
  for (const { name, run } of storeConformance((clock) =>
    postgresStore({ connectionString, ...PATIENT }, clock),
  ))
    if (isAsked(name)) test(name, run)
})
