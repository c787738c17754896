import { describe, test } from 'vitest'
import { storeConformance } from '../../src/testing/index.js'
import { tableStore } from './table-store.js'

describe('a store that decides by batches over rows of numbers keeps the contract of a store', () => {
  for (const { name, run } of storeConformance(tableStore)) test(name, run)
})
