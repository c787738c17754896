// A test that judges real time: a verdict counts only where the machine did not stall, and each
// attempt begins anew.

import { judged } from '@weir/testkit'

/** Notes what is to be closed when the attempt ends. */
export type Ends = (close: () => unknown) => void

export function attempt(run: (ends: Ends) => Promise<void>): () => Promise<void> {
  return () =>
    judged(async () => {
      const open: (() => unknown)[] = []
      try {
        await run((close) => open.push(close))
      } finally {
        for (const close of open.reverse()) await close()
      }
    })
}
