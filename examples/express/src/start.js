// @ts-check
// Connects to Redis if REDIS_URL is set, and finds a free port.

import { createServer } from 'node:http'
import { recommendedRedisOptions } from '@weir/express'
import { Redis } from 'ioredis'

/**
 * Connects to Redis. Returns undefined if there is no URL.
 * @param {string | undefined} url
 */
export async function connectRedis(url) {
  if (!url) return undefined
  const redis = new Redis(url, { ...recommendedRedisOptions, lazyConnect: true })
  /** @type {Error | undefined} */
  let trouble
  redis.on('error', (error) => {
    trouble = error
  })
  try {
    await redis.connect()
  } catch (error) {
    // The message of a system error has the address, and an address may have a password.
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (trouble ?? error)
    fail(`cannot reach the Redis of REDIS_URL: ${code ?? message}`)
  }
  return redis
}

/**
 * The port to listen on: 3000 unless PORT is set; 0 picks a free one.
 * @param {string | undefined} text
 */
export function portFrom(text = '3000') {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    fail(`PORT is "${text}"; give a whole number from 0 to 65535`)
  return port
}

/**
 * Listens on the loopback address, on this port or the next free one.
 * @param {import('node:http').RequestListener} app
 * @param {number} port
 * @returns {Promise<import('node:http').Server>}
 */
export async function listen(app, port) {
  for (let tried = port; tried < port + 20; tried += 1) {
    const server = createServer(app)
    try {
      await new Promise((resolve, reject) => {
        server.once('error', reject).listen(tried, '127.0.0.1', () => resolve(undefined))
      })
      if (tried !== port) console.log(`port ${port} is taken; using ${tried}`)
      return server
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      if (code !== 'EADDRINUSE') return fail(`cannot listen on port ${tried}: ${code}`)
    }
  }
  return fail(`ports ${port} to ${port + 19} are taken; set PORT to a free one`)
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message)
  process.exit(1)
}
