// `@weir/core/store`, for authors of stores: the contract, and the driver for a store on a
// database.

export type * from '../store.js'
export { type Batch, type BatchOutcome, type BatchRequest, batchOf } from './batch.js'
export type { RowChange } from './rows.js'
