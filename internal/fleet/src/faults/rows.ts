// The fault matrix, and additional rows.
import type { Row } from './row.js'
import { closing } from './rows/closing.js'
import { firstWaits } from './rows/first-waits.js'
import { flapping } from './rows/flapping.js'
import { flood } from './rows/flood.js'
import { none, scriptFlush } from './rows/healthy.js'
import { foreignValue, noTtl } from './rows/keys.js'
import { outages } from './rows/outages.js'
import { processes } from './rows/processes.js'
import { ghosts, stampede } from './rows/recovery.js'
import { refusals } from './rows/refusals.js'
import { slots } from './rows/slots.js'
import { topology } from './rows/topology.js'
import { waitingAndSettling } from './rows/waiting.js'
import { partialViews } from './stories/partial-views.js'
import { starts } from './stories/starts.js'

const all: readonly Row[] = [
  none,
  ...outages,
  ...flapping,
  scriptFlush,
  ...refusals,
  foreignValue,
  noTtl,
  ...processes,
  ghosts,
  ...topology,
  flood,
  stampede,
  ...closing,
  ...partialViews,
  starts,
  slots,
  firstWaits,
]

/** The short form takes the first row of each number. */
const plain = all.map((row, i): Row => {
  const isFirst = all.findIndex(({ number }) => number === row.number) === i
  return isFirst ? row : { ...row, fullOnly: true }
})

/** In the order of their numbers. */
export const rows: readonly Row[] = [...plain, ...waitingAndSettling(plain)].sort(
  (a, b) => place(a) - place(b),
)

function place({ number }: Row): number {
  return Number.parseInt(number, 10) + (number.endsWith('b') ? 0.5 : 0)
}
