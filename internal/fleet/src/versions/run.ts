// Compares an earlier version with the present one, on one Redis.
//
//   pnpm versions [--with 0123abcd] [--rounds 20] [--seed 1] [--only conformance]
//
// --with is a commit; by default, the last release. Exits with 1 if counts of one version do not
// continue in the other.

import { parseArgs } from 'node:util'
import { startRedis } from '@weir/testkit'
import { benchOn } from './bench.js'
import { checksOf } from './checks/all.js'
import { isKnown } from './differences.js'
import { lastRelease, releaseAt } from './release.js'
import { presentFolder, versionIn } from './version.js'

const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
})

const commit = values.with ?? lastRelease()?.commit
if (commit === undefined)
  throw new Error('the last release is not in this clone. Fetch it: git fetch --unshallow --tags')
const folder = releaseAt(commit)
const earlier = await versionIn(folder, commit)
const present = await versionIn(presentFolder, 'present')
console.log(`${commit} (${folder}) beside the present`)

const server = await startRedis()
const bench = benchOn(server, [earlier, present])
const first = Number(values.seed)
let wrong = 0
for (let seed = first; seed < first + Number(values.rounds); seed += 1) {
  for (const [name, run] of checksOf(bench, seed)) {
    if (values.only !== undefined && values.only !== name) continue
    const { did, problems } = await run()
    const unknown = problems.filter((problem) => !isKnown(commit, problem))
    const known = problems.length - unknown.length
    const rest = known > 0 ? `, ${known} known` : ''
    console.log(`seed ${seed}, ${name}: ${did}; ${unknown.length} wrong${rest}`)
    for (const problem of unknown) console.log(`- ${problem}`)
    wrong += unknown.length
  }
}
bench.close()
await server.stop()
process.exitCode = wrong === 0 ? 0 : 1
