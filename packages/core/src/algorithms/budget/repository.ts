import type { AlgorithmInRepository } from '../repository.js'

export const repository: AlgorithmInRepository = { policies: { budget: {} } }
