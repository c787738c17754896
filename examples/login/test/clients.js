// @ts-check
// The app behind a proxy, with clients at any address, and time that moves only when a test says
// so.

import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import { memoryStore } from '@weir/express'
import { onTestFinished, vi } from 'vitest'
import { loginApp } from '../src/app.js'
import { solutionOf } from '../src/challenge.js'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Stops Date, from which stores read the time. Sockets and timers are real. */
export function stopTime() {
  vi.useFakeTimers({ toFake: ['Date', 'hrtime'], now: Date.UTC(2026, 0, 1) })
  onTestFinished(() => void vi.useRealTimers())
}

/** @param {number} ms */
export function pass(ms) {
  vi.advanceTimersByTime(ms)
}

/** @typedef {{ account: string, password: string, atMs: number }} Guess */
/** @typedef {object} Answer
 *  @property {number} status
 *  @property {any} body
 *  @property {string | undefined} cookie
 *  @property {string | undefined} retryAfter */

/**
 * Starts the app, whose only correct password is `right`, and records what reaches its password
 * check and its mail.
 * @param {import('@weir/express').Store} [store]
 * @param {() => Promise<void>} [before] what the password check waits for
 */
export async function startApp(store = memoryStore(), before = async () => {}) {
  /** @type {Guess[]} */
  const guesses = []
  /** @type {string[]} */
  const mails = []
  const checks = { underWay: 0, count: 0 }
  const app = loginApp({
    store,
    proxies: ['loopback'],
    async isRight(account, password) {
      if (password !== 'right') guesses.push({ account, password, atMs: Date.now() })
      checks.underWay += 1
      checks.count += 1
      await before()
      checks.underWay -= 1
      return password === 'right'
    },
    mail: (_account, path) => void mails.push(path),
  })
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  onTestFinished(async () => {
    agent.destroy()
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })

  /**
   * A browser, with its cookie.
   * @param {string} address @param {string} [cookie]
   */
  function client(address, cookie) {
    /** @param {string} path @param {object} [body] @returns {Promise<Answer>} */
    const ask = (path, body) =>
      new Promise((done, failed) => {
        const headers = {
          'x-forwarded-for': address,
          'content-type': 'application/json',
          ...(browser.cookie && { cookie: browser.cookie }),
        }
        const method = body === undefined ? 'GET' : 'POST'
        const sent = request({ port, agent, path, method, headers }, async (response) => {
          let text = ''
          for await (const chunk of response.setEncoding('utf8')) text += chunk
          const set = response.headers['set-cookie']?.[0]?.split(';')[0]
          if (set !== undefined) browser.cookie = set
          const [status, retryAfter] = [response.statusCode ?? 0, response.headers['retry-after']]
          done({
            status,
            body: text.startsWith('{') ? JSON.parse(text) : text,
            cookie: set,
            retryAfter,
          })
        })
        sent.once('error', failed).end(body && JSON.stringify(body))
      })

    const browser = {
      cookie,
      ask,
      /** @param {string} email @param {string} password @param {object} [more] */
      logIn: (email, password, more) => ask('/login', { email, password, ...more }),
      /** Logs in as a page does: solves the challenge that it gets.
       *  @param {string} email @param {string} password */
      async logInSolving(email, password) {
        const first = await browser.logIn(email, password)
        if (first.body.challenge === undefined) return first
        return browser.logIn(email, password, solved(first.body.challenge))
      },
    }
    return browser
  }
  return { client, guesses, mails, checks }
}

/** @param {string} challenge */
export function solved(challenge) {
  return { challenge, solution: solutionOf(challenge) }
}
