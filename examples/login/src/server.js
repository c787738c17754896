// @ts-check
// Login protection. Two policies, one decision: so many attempts from an address, and fewer from an
// address at one account. Nobody can lock somebody else out, as would be possible with a limit by
// the account alone.
//
//   PORT=3000   where to listen; 0 is any

import { addressKey, rateLimit, slidingLog, slidingWindow } from '@weir/express'
import express from 'express'

const perAddress = slidingWindow({ name: 'login-address', limit: 20, window: '5m' })
const perAccount = slidingLog({ name: 'login-account', limit: 5, window: '15m' })
const clientKey = addressKey()

const attempts = rateLimit({
  name: 'login',
  // The key of the decision is the address; the second policy has its own.
  policy: (req) => [
    perAddress,
    { policy: perAccount, key: JSON.stringify([clientKey(req.ip), accountOf(req)]) },
  ],
  // A stranger at an account must not learn from the headers whether others are trying it, too.
  hide: ['login-account'],
  // Only failures count: who has the right password takes nothing. A client that leaves before the
  // response has failed.
  refundWhen: (_req, { status, finished }) => finished && status < 400,
})

const app = express().disable('x-powered-by')

app.post('/login', express.json({ limit: '1kb' }), attempts, (req, res) => {
  const password = req.body?.password
  if (typeof password !== 'string') {
    // Without a JSON body there is nothing to check.
    res.status(400).json({ ok: false })
    return
  }
  const right = accountOf(req) === 'ann@example.org' && password === 'correct horse'
  // The same response, whether there is no such account or the password is wrong.
  res.status(right ? 200 : 401).json({ ok: right })
})

/**
 * The account, in the form in which the database would look it up, or one attacker would have many
 * spellings.
 * @param {import('express').Request} req
 */
function accountOf(req) {
  return String(req.body?.email ?? '')
    .normalize('NFKC')
    .trim()
    .toLowerCase()
    .slice(0, 254)
}

const server = app.listen(Number(process.env.PORT ?? 3_000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const url = `http://127.0.0.1:${port}`
  console.log(`Listening on ${url} (Ctrl-C ends it). Try, more than five times:

  curl -i ${url}/login -H 'Content-Type: application/json' -d '{"email": "ann@example.org", "password": "guess"}'

The password is "correct horse". Other accounts still work from here: in all, twenty failures in five minutes.`)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    server.close()
    server.closeAllConnections()
  })
}
