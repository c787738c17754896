// The same seed runs the same story on every Node: compares the histories of internal/fleet for the
// same seeds on several Nodes. Needs a build.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// The fleet is built from the sources of packages/core.
const built = new URL('../internal/fleet/dist/', import.meta.url)
const fleet = fileURLToPath(new URL('internal/fleet/src/run.js', built))
const calendar = new URL('packages/core/src/base/calendar.js', built)

/** At least one story of each scenario. */
const REQUESTS = 25_000
/** How many differences are printed for each program. */
const SHOWN = 5
/** The time zones in the policies of stories, which take place in 2026. Each Node has its own time
 *  zone data, and a story would change where they differ. */
const ZONES = ['America/New_York', 'Europe/Berlin']
const [FROM, TO] = [Date.UTC(2025, 11), Date.UTC(2027, 0)]

/** Prints when each day begins. */
const DAYS = `
  import { periodsOf } from '${calendar.href}'
  for (const zone of ${JSON.stringify(ZONES)}) {
    const dayAt = periodsOf('day', zone, 'monday')
    for (let atMs = ${FROM}; atMs < ${TO}; atMs = dayAt(atMs).endMs)
      console.log(zone, new Date(dayAt(atMs).startMs).toISOString())
  }
`

/**
 * Prints the differences.
 * @param {readonly string[]} nodes paths of binaries
 */
export function sameHistories(nodes) {
  const areDaysSame = areSame('days', nodes, ['--input-type=module', '--eval', DAYS], /./)
  const stories = [fleet, '--requests', `${REQUESTS}`, '--each']
  return areSame('stories', nodes, stories, /^seed /) && areDaysSame
}

/** Whether a program prints the same lines on all Nodes. */
function areSame(what, nodes, args, like) {
  const printed = nodes.map((node) => ({
    version: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
    lines: linesOf(node, args).filter((line) => like.test(line)),
  }))
  const [first, ...others] = printed
  const versions = printed.map(({ version }) => version).join(' and ')
  let different = 0
  for (const { version, lines } of others)
    for (let i = 0; i < Math.max(lines.length, first.lines.length); i += 1) {
      if (lines[i] === first.lines[i]) continue
      different += 1
      if (different > SHOWN) continue
      console.log(`${first.version}: ${first.lines[i] ?? 'no more'}`)
      console.log(`${version}: ${lines[i] ?? 'no more'}`)
    }
  console.log(`${what}: ${first.lines.length} on Node ${versions}, ${different} differ`)
  return different === 0
}

function linesOf(node, args) {
  return execFileSync(node, args, { encoding: 'utf8' }).split('\n')
}
