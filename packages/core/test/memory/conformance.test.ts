import { describe, test } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { storeConformance } from '../../src/testing/index.js'

describe('the memory store keeps the contract of a store', () => {
  for (const { name, run } of storeConformance((clock) => memoryStore({ clock }))) test(name, run)
})
