import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Polls until `check` holds. An error of `check` counts as "not yet"; the last one is reported when
 * the time is up, which is for what hangs: a busy machine may take long.
 */
export async function waitUntil(
  what: string,
  check: () => Promise<boolean>,
  timeoutMs = 100_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    let cause: unknown
    try {
      if (await check()) return
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause })
    await sleep(10)
  }
}
