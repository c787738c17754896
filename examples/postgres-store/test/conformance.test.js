// @ts-check
import { storeConformance } from '@weir/core/testing'
import { describe, inject, test } from 'vitest'
import { postgresStore } from '../src/postgres-store.js'

const connectionString = inject('postgresUrl')

describe.concurrent('a store on PostgreSQL keeps the contract of a store', () => {
  for (const { name, run } of storeConformance((clock) =>
    postgresStore({ connectionString }, clock),
  ))
    test(name, run)
})
