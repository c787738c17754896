// Downloads packages into the current folder, and says on stderr how far it is. Prints the errors
// of apt-get, which are no news while there is another way.
//
//   node download.mjs WHAT [apt options] NAME...
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { say } from './once.mjs'

/** A line appears when so much more is there, and so much time has passed. */
const STEP_PERCENT = 10
const STEP_MS = 2_000

const [what, ...args] = process.argv.slice(2)
say(what)
const child = spawn('apt-get', ['-qq', '-o', 'APT::Status-Fd=3', 'download', ...args], {
  stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
})
child.stderr.pipe(process.stdout)
const ended = once(child, 'close')
let said = { percent: 0, atMs: performance.now() }
// Such as `dlstatus:3:41.7:Retrieving file 3 of 25`.
for await (const line of createInterface({ input: child.stdio[3] })) {
  const percent = Math.floor(Number(/^dlstatus:\d+:([\d.]+)/.exec(line)?.[1] ?? 0))
  const nowMs = performance.now()
  if (percent < said.percent + STEP_PERCENT || nowMs < said.atMs + STEP_MS) continue
  said = { percent, atMs: nowMs }
  say(`${what}: ${percent} %`)
}
;[process.exitCode] = await ended
