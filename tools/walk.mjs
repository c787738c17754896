// The walk of one request through the built packages: which functions run, in which files. It fails
// when a walk is beyond its bounds. Needs a build.
//
//   node tools/walk.mjs [--steps]     --steps: prints the walks, too
//
// Each package is loaded with calls that record its functions (walk/record.mjs). A step is a
// function of Weir that begins, or that goes on after an await; a function that returns to its
// caller is no step. A change of file is a step in another file than the step before it, and that
// file is then entered. What is left out: steps in `base/`, functions of the adapter that core
// calls back, such as the one that sets a header, and Lua.
//
// The request is one of Express with the default policy, allowed, alone, after some hundred others
// have warmed the process up, from a client that is known. Each client asks twice: the first time
// in a new part of its window, then in the same one. Of the walks that a quarter of the requests
// took, the one with the most changes counts. What timers do meanwhile belongs to no request.
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { createRequire, register } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis } from '../internal/testkit/dist/esm/index.js'

/** The most files, changes of file, and entries of one file. */
const BOUNDS = {
  'Express in memory': { files: 20, changes: 40, entries: 3 },
  'Express on Redis': { files: 30, changes: 60, entries: 3 },
}
const CLIENTS = 20
const TIMES = 2 * CLIENTS
/** Of the default policy's window, 1/60. */
const PART_MS = 1_000
const WARM_PARTS = 4
/** Enough for what follows a response. */
const QUIET_MS = 5

/** The functions that run now, the innermost last; empty between tasks. */
const running = []
let steps = []
globalThis.weirWalk = {
  begin: enter,
  end: () => running.pop(),
  wait(promise) {
    running.pop()
    return promise
  },
  goOn(place, value) {
    enter(place)
    return value
  },
}

let inTimer = false
for (const name of ['setTimeout', 'setInterval']) {
  const original = globalThis[name]
  globalThis[name] = (callback, ...rest) => {
    const apart = (...args) => {
      inTimer = true
      try {
        return callback(...args)
      } finally {
        inTimer = false
      }
    }
    return original(apart, ...rest)
  }
}

register('./walk/record.mjs', import.meta.url)
const { rateLimit, recommendedRedisOptions, redisStore } = await import(
  '../packages/express/dist/esm/index.js'
)
const express = dependencyOf('express', 'express')
const { Redis } = dependencyOf('core', 'ioredis')

const walks = { 'Express in memory': await walkOf({}), 'Express on Redis': await walkOnRedis() }
let failed = false
for (const [name, walk] of Object.entries(walks)) {
  const { files, changes, entered } = figuresOf(walk)
  const most = [...entered].filter(([, times]) => times > 1).sort(([, a], [, b]) => b - a)
  console.log(`${name}: ${walk.length} steps, ${files} files, ${changes} changes of file`)
  console.log(`  entered: ${most.map(([file, times]) => `${file} ${times}`).join(', ')}`)
  if (process.argv.includes('--steps')) print(walk)
  const bounds = BOUNDS[name]
  const beyond = most.filter(([, times]) => times > bounds.entries).map(([file]) => file)
  if (files > bounds.files) fail(name, `${files} files, at most ${bounds.files}`)
  if (changes > bounds.changes) fail(name, `${changes} changes, at most ${bounds.changes}`)
  for (const file of beyond) fail(name, `${file} is entered more than ${bounds.entries} times`)
}
process.exitCode = failed ? 1 : 0

function fail(name, text) {
  failed = true
  console.error(`${name}: ${text}`)
}

function enter([file, name]) {
  if (!inTimer) steps.push({ file, name, depth: running.length, isCallback: isCallback(file) })
  running.push(file)
}

/** Whether core calls the adapter. */
function isCallback(file) {
  return !file.startsWith('core/') && running.length > 0 && running.at(-1) !== file
}

/** Of what counts: see the head of this file. */
function figuresOf(walk) {
  const counted = walk.filter(({ file, isCallback }) => !/^core\/base\//.test(file) && !isCallback)
  const entered = new Map()
  let changes = -1
  let last
  for (const { file } of counted) {
    if (file === last) continue
    changes += 1
    entered.set(file, (entered.get(file) ?? 0) + 1)
    last = file
  }
  return { files: entered.size, changes, entered }
}

function print(walk) {
  for (const { file, name, depth } of walk) console.log(`  ${'  '.repeat(depth)}${file} ${name}`)
}

async function walkOnRedis() {
  const server = await startRedis()
  const client = new Redis(server.port, recommendedRedisOptions)
  const store = redisStore(client)
  try {
    return await walkOf({ store })
  } finally {
    await store.close()
    client.disconnect()
    await server.stop()
  }
}

/** Of the walks that are common, the one with the most changes of file. */
async function walkOf(options) {
  const app = express()
  app.use(rateLimit({ limit: 100, window: '1m', ...options }))
  app.get('/', (_, res) => res.end())
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  // Each client has an address of its own, and a connection that stays open.
  const agents = Array.from({ length: CLIENTS }, (_, i) => {
    return new Agent({ keepAlive: true, localAddress: `127.0.0.${2 + i}` })
  })
  try {
    for (let part = 0; part < WARM_PARTS; part += 1) {
      for (let i = 0; i < 5 * CLIENTS; i += 1) await ask(port, agents[i % CLIENTS])
      await sleep(PART_MS)
    }
    const taken = new Map()
    for (let i = 0; i < TIMES; i += 1) {
      await sleep(QUIET_MS)
      steps = []
      await ask(port, agents[Math.floor(i / 2)])
      await sleep(QUIET_MS)
      const text = JSON.stringify(steps)
      taken.set(text, (taken.get(text) ?? 0) + 1)
    }
    const common = [...taken].filter(([, times]) => times >= TIMES / 4)
    const walks = common.map(([text]) => JSON.parse(text))
    return walks.sort((a, b) => figuresOf(b).changes - figuresOf(a).changes)[0]
  } finally {
    for (const agent of agents) agent.destroy()
    server.close()
  }
}

async function ask(port, agent) {
  const [response] = await once(get({ host: '127.0.0.1', port, agent }), 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`a response of ${response.statusCode}`)
}

function dependencyOf(folder, name) {
  return createRequire(new URL(`../packages/${folder}/package.json`, import.meta.url))(name)
}
