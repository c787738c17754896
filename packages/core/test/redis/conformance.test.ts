import { describe, test } from 'vitest'
import { storeConformance } from '../../src/testing/index.js'
import { clusterClient, singleClient, strictStore } from './clients.js'

describe('the Redis store on a single server keeps the contract of a store', () => {
  const client = singleClient()
  for (const { name, run } of storeConformance((clock) => strictStore(client, { clock }))) test(name, run)
})

describe('the Redis store on a Cluster keeps the contract of a store', () => {
  const client = clusterClient()
  for (const { name, run } of storeConformance((clock) => strictStore(client, { clock }))) test(name, run)
})
