// Runs the compiled snippets of one document, in order:
//
//   node run.mjs <from>:<to>[,<from>:<to>] <file>...
//
// Servers listen on any free port of this machine, and connections to port `from` go to port `to`,
// so a snippet may name ports 3000 and 6379 as its readers would. If a snippet throws, rejects or
// causes a warning, the process ends with an error.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Server, Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import {
  memoryStore,
  RateLimiter,
  recommendedRedisOptions,
  redisStore,
  slidingLog,
} from '@weir/core'
import express from 'express'
import { Redis } from 'ioredis'

const [ports = '', ...files] = process.argv.slice(2)
const portOf = new Map(ports.split(',').map((pair) => pair.split(':').map(Number)))
/** @type {Server[]} */
let servers = []
/** The servers that have begun to listen. */
const listening = new WeakMap()

const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  servers.push(this)
  listening.set(this, once(this, 'listening'))
  const callback = args.findLast((arg) => typeof arg === 'function')
  return listen.call(this, { port: 0, host: '127.0.0.1' }, callback)
}

const { connect } = Socket.prototype
Socket.prototype.connect = function (...args) {
  const [options] = Array.isArray(args[0]) ? args[0] : args
  const port = portOf.get(Number(options?.port))
  if (port !== undefined) Object.assign(options, { port, host: '127.0.0.1' })
  return connect.apply(this, args)
}

process.on('warning', (warning) => {
  // Each snippet is a program of its own, which may use the names that another one does.
  if (warning.name === 'WeirWarning' && warning.code !== 'WEIR_SHARED_NAME') throw warning
})

let hosts = 0

/** Each snippet is a separate program: limiters of the others do not count in the same Redis. */
function newHost() {
  hosts += 1
  return `127.0.0.${hosts}`
}

/** Objects that the documents assume: made on first use, separately for each snippet. */
const surroundings = {
  app: () => express(),
  authenticate: () => (req, _res, next) => {
    req.user = { id: 'u42' }
    next()
  },
  search: () => (_req, res) => res.send('found'),
  client: () => new Redis({ ...recommendedRedisOptions, host: newHost() }).on('error', () => {}),
  store: () => redisStore(globalThis.client),
  limiter: () => new RateLimiter({ name: 'snippet', policy: globalThis.loginPolicy }),
  loginPolicy: () => slidingLog({ limit: 5, window: '15m' }),
  policy: () => slidingLog({ limit: 100, window: '1m' }),
  myStore: () => memoryStore(),
  key: () => 'u42',
  payments: () => ({ get: async () => ({}) }),
}

async function surround() {
  for (const [name, make] of Object.entries(surroundings)) {
    let made
    Object.defineProperty(globalThis, name, { configurable: true, get: () => (made ??= make()) })
  }
  globalThis.decision = await globalThis.limiter.consume('u42')
}

Object.assign(globalThis, {
  assert,
  // On a busy machine, the first decisions may be made without Redis.
  async eventually(check) {
    for (const endMs = Date.now() + 10_000; ; await setTimeout(20)) {
      try {
        return await check()
      } catch (error) {
        if (Date.now() > endMs) throw error
      }
    }
  },
  async ask(path, init) {
    // A snippet may begin to listen later.
    while (servers.length === 0) await setTimeout(10)
    const server = servers.at(-1)
    await listening.get(server)
    return fetch(`http://127.0.0.1:${server.address().port}${path}`, init)
  },
})

for (const file of files) {
  await surround()
  try {
    await import(pathToFileURL(file).href)
    for (const server of servers) await listening.get(server)
  } catch (error) {
    console.error(`in ${file}:`)
    throw error
  }
  for (const server of servers) {
    server.closeAllConnections?.()
    server.close()
  }
  servers = []
}
process.exit(0)
