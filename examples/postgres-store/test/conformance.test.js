// @ts-check
import { storeConformance } from '@weir/core/testing'
import { describe, inject, test, vi } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'
import { PATIENT } from './shared.js'

const connectionString = inject('postgresUrls').conformance

// Stops the sweeps: each case has its own clock, and would sweep away the rows of others.
vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })

describe.concurrent('a store on PostgreSQL keeps the contract of a store', () => {
  for (const { name, run } of storeConformance((clock) =>
    postgresStore({ connectionString, ...PATIENT }, clock),
  ))
    test(name, run)
})
