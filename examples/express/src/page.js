// @ts-check
// The page of the example: a button that makes traffic, and a link to the dashboard. The page has
// no script, and its content security policy allows none.

import { createHash } from 'node:crypto'
import { Router } from 'express'

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 3rem auto; max-width: 36rem; padding: 0 1rem }
button { font: inherit; padding: 0.5rem 1rem; cursor: pointer }
`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Serves the page at `GET /`; its button posts to `/traffic/start` and `/traffic/stop`.
 * @param {ReturnType<typeof import('./traffic.js').newTraffic>} traffic
 */
export function trafficPage(traffic) {
  const router = Router()
  router.get('/', (_, res) => {
    res.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-store' })
    res.type('html').send(pageOf(traffic.isRunning(), traffic.made))
  })
  router.post('/traffic/:order', (req, res) => {
    const { order } = req.params
    // Browsers report which site a form came from. Other sites may not press the button.
    const site = req.get('sec-fetch-site') ?? 'same-origin'
    if (site !== 'same-origin') return void res.status(403).end()
    if (order !== 'start' && order !== 'stop') return void res.status(404).end()
    traffic[order]()
    res.redirect(303, '/')
  })
  return router
}

/**
 * @param {boolean} isRunning
 * @param {{ requests: number, refused: number }} made
 */
function pageOf(isRunning, { requests, refused }) {
  const [order, label] = isRunning ? ['stop', 'Stop'] : ['start', 'Make traffic for a minute']
  const counts = `${requests} requests so far, ${refused} of them refused.`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Weir with Express</title>
<style>${STYLE}</style>
<main>
<h1>Weir with Express</h1>
<p>Thirty made-up clients ask the limiters <code>hello</code> and <code>search</code>. Some are
refused.</p>
<form method="post" action="/traffic/${order}"><button>${label}</button></form>
<p>${isRunning ? 'Traffic runs, for a minute at most.' : 'No traffic runs.'} ${requests > 0 ? counts : ''}</p>
<p>Watch it on <a href="/weir/">the dashboard</a>. If that asks for a token, open the address that
was printed at the start.</p>
</main>
`
}
