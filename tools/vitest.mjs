// What the tests of all packages have in common.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/**
 * Files share a thread and what they import: loading it for each file would take longer than most
 * tests. So a file leaves nothing behind: no timer, no listener of the process, no limiter that
 * another file sees. One that must have a process to itself stands in a project of its own, with
 * `ALONE`.
 */
export const SHARED = {
  setupFiles: [fileURLToPath(new URL('./quiet.mjs', import.meta.url))],
  pool: 'threads',
  isolate: false,
  maxWorkers: availableParallelism(),
}

/** For files that look at the memory, the signals or the one-time warnings of a process. */
export const ALONE = { pool: 'forks', isolate: true }
