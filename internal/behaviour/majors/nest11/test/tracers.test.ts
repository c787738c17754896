// The limits of handlers that real tracers wrap, in a process of its own, since tracers hook into
// `require`. Neither tracer knows Nest 12.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const execute = promisify(execFile)

/** How many of four requests to a handler pass. */
const EACH = { limited: 1, override: 1, skipped: 4, plain: 2 }

test.concurrent.each([
  ['opentelemetry', 40],
  ['sentry', 40],
  ['none', 0],
])('under the tracer %s, decorators hold above and below others', async (tracer, spans) => {
  const program = join(import.meta.dirname, 'traced.cjs')
  const { stdout } = await execute(process.execPath, [program, tracer], { timeout: 120_000 })
  const passed = { above: EACH, below: EACH, aboveTraced: EACH, belowTraced: EACH, between: EACH }
  // The tracer has wrapped each handler: it has seen each request that passed.
  expect(JSON.parse(stdout)).toEqual({ passed, spans })
})
