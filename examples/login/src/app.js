// @ts-check
// The routes of a login, step by step. Each attempt is charged before its password is checked: if
// failures were charged afterwards, many parallel attempts would reach the check first.

import express from 'express'
import { isSolved } from './challenge.js'
import { knownDevice, remember } from './device.js'
import { askForChallenge, limitsOn } from './limits.js'
import { idOf, randomId, signed } from './signed.js'

/** @typedef {import('express').Request} Request */
/** @typedef {import('express').Response} Response */
/** @typedef {import('express').NextFunction} Next */

/** Longer than the hour in which no other mail is sent, so one link is always valid. */
const LINK_MS = 2 * 3_600_000

/**
 * @param {object} options
 * @param {import('@weir/express').Store} options.store
 * @param {readonly string[]} [options.proxies] whose `X-Forwarded-For` is believed
 * @param {(account: string, password: string) => Promise<boolean>} options.isRight
 * @param {(account: string, path: string) => void} options.mail if there is such an account
 */
export function loginApp({ store, proxies = [], isRight, mail }) {
  const app = express().disable('x-powered-by').set('trust proxy', proxies)
  const json = express.json({ limit: '2kb' })
  const { devices, strangers, solvers, mails } = limitsOn(store)

  const steps = [json, readAccount, readAttempt, devices, strangers, solvers, readSolution]
  app.post('/login', ...steps, async (req, res) => {
    const { account, password } = res.locals
    // The response is the same whether the account is unknown or the password is wrong.
    if (!(await isRight(account, password))) {
      res.status(401).json({ ok: false })
      return
    }
    remember(res, req.headers.cookie, account)
    res.json({ ok: true })
  })

  app.post('/login/mail', json, readAccount, mails, (_req, res) => {
    const { account } = res.locals
    const link = new URLSearchParams({
      account,
      link: signed('link', account, randomId(), LINK_MS),
    })
    res.sendStatus(202)
    mail(account, `/login/link?${link}`)
  })

  // A person who opens the link still needs the password. The device gets the link's id, so opening
  // the link again gives no new lock-out.
  app.get('/login/link', (req, res) => {
    const [account, link] = [String(req.query.account), String(req.query.link)]
    const id = idOf(link, 'link', account)
    if (id === undefined) {
      res.status(400).json({ ok: false })
      return
    }
    remember(res, req.headers.cookie, account, id)
    res.redirect(303, '/')
  })

  app.use(badRequest)
  return app
}

/** Without a JSON body that names an account, there is nothing to count.
 *  @param {Request} req @param {Response} res @param {Next} next */
function readAccount(req, res, next) {
  const { email } = req.body ?? {}
  if (typeof email !== 'string' || email.length > 254) {
    res.status(400).json({ ok: false })
    return
  }
  // Spelled as the database looks it up; otherwise one account would have many keys.
  res.locals.account = email.normalize('NFKC').trim().toLowerCase()
  next()
}

/** @param {Request} req @param {Response} res @param {Next} next */
function readAttempt(req, res, next) {
  const { password, challenge, solution } = req.body
  if (typeof password !== 'string' || !['string', 'undefined'].includes(typeof challenge)) {
    res.status(400).json({ ok: false })
    return
  }
  const device = knownDevice(req.headers.cookie, res.locals.account)
  Object.assign(res.locals, { password, challenge, solution, device })
  next()
}

/** Runs after the limit, since checking a solution may mean a call to another service.
 *  @param {Request} _req @param {Response} res @param {Next} next */
function readSolution(_req, res, next) {
  const { account, device, challenge, solution } = res.locals
  if (device === undefined && challenge !== undefined && !isSolved(challenge, account, solution))
    askForChallenge(res)
  else next()
}

/** Answers requests that `express.json` cannot read.
 *  @param {any} error @param {Request} _req @param {Response} res @param {Next} next */
function badRequest(error, _req, res, next) {
  const { status = 500 } = error
  if (status >= 500 || res.headersSent) next(error)
  else res.status(status).json({ ok: false })
}
