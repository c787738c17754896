// Does what a newcomer does: clones the repository and types `npm start`, with an empty home
// folder. Asserts that the example refuses a request of its burst, answers at the address that it
// prints, and ends on Ctrl-C without an error. Prints how long the first refusal took.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LIMIT_MS = 240_000
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'weir-clone-'))
const home = join(folder, 'home')
const clone = join(folder, 'weir')
mkdirSync(home)

try {
  execFileSync('git', ['clone', '--quiet', root, clone])
  const begun = Date.now()
  const { output, code, refusedMs } = await startAndInterrupt()
  // On some systems, the shell in which npm runs scripts dies of the signal itself, so there is no
  // exit code.
  assert.ok(code === 0 || code === null, `Ctrl-C ends npm start with exit code 0, not ${code}`)
  assert.match(
    output,
    /the example has ended\n$/,
    'Ctrl-C ends the example with exit code 0, and nothing is said after',
  )
  console.log(
    `fresh clone, empty home: npm start refused its first request after ${((refusedMs - begun) / 1_000).toFixed(1)} s`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Runs `npm start`, requests the printed address once, and presses Ctrl-C. */
async function startAndInterrupt() {
  // A separate process group, as on a terminal: Ctrl-C reaches all of it.
  const child = spawn('npm', ['start'], {
    cwd: clone,
    env: newcomersEnv(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = new Promise((resolve) => child.once('close', resolve))
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), LIMIT_MS)
  let output = ''
  let refusedMs
  let requested
  const read = (chunk) => {
    process.stdout.write(chunk)
    output += chunk
    if (/^ .* 429 /m.test(output)) refusedMs ??= Date.now()
    const url = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/.exec(output)?.[0]
    if (url && !requested)
      requested = request(url).finally(() => process.kill(-child.pid, 'SIGINT'))
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const code = await exit
  clearTimeout(timer)
  assert.ok(requested, 'npm start prints its address')
  await requested
  assert.ok(refusedMs, 'the burst has a request that is refused')
  return { output, code, refusedMs }
}

/** Retries until the server answers: the address may be printed a moment earlier. */
async function request(url) {
  for (let attempt = 0; ; attempt++) {
    try {
      const { status } = await fetch(url)
      console.log(`GET ${url}: ${status}`)
      assert.ok(status < 500, 'the example answers')
      return
    } catch (error) {
      if (attempt === 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

/** This environment without the variables of npm, pnpm and turbo, and with an empty home. */
function newcomersEnv() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|pnpm_|turbo_|xdg_|init_cwd$|redis_)/i.test(name),
  )
  const path = process.env.PATH.split(':').filter(
    (part) => !part.includes('node_modules') && !part.includes('_npx'),
  )
  return { ...Object.fromEntries(kept), HOME: home, PATH: path.join(':'), PORT: '0' }
}
