// A setup file of every test run.
//
// A warning of the process that no test asked for is an error, so that the output of tests shows
// only what matters. A test about a warning catches it at its source:
// vi.spyOn(process, 'emitWarning').
//
// On a busy machine a test may take long, and so may what it waits for, so the timeouts are longer
// than vitest's defaults of 5 s and 1 s.
import { expect, vi } from 'vitest'

const WAIT_MS = 100_000
const TEST_MS = 120_000

vi.setConfig({ testTimeout: TEST_MS, hookTimeout: TEST_MS })
const { waitFor } = vi
const { poll } = expect
vi.waitFor = (callback, options = {}) => waitFor(callback, { timeout: WAIT_MS, ...options })
expect.poll = (callback, options = {}) => poll(callback, { timeout: WAIT_MS, ...options })

const once = Symbol.for('weir.quiet')

if (!process[once]) {
  process[once] = true
  process.on('warning', ({ name, code = name, message, stack }) => {
    const error = new Error(`a warning that is not the target of a test: ${code}: ${message}`)
    error.stack = `${error.message}\n${stack?.split('\n').slice(1).join('\n')}`
    throw error
  })
}
