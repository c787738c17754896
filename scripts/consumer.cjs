// A CommonJS application that installed the packed tarballs.
const assert = require('node:assert/strict')
const { weirStore } = require('@weir/compat/express-rate-limit')
const { RateLimiter, fixedWindow, memoryStore } = require('@weir/core')
const { dashboard } = require('@weir/dashboard')
const express = require('express')
const { rateLimit } = require('@weir/express')
const { MetricsModule } = require('@weir/metrics/nest')
const { observe } = require('@weir/metrics/otel')
const { prometheus } = require('@weir/metrics/prometheus')

require('reflect-metadata')
const { RateLimitModule } = require('@weir/nest')
const { simulation } = require('@weir/simulate')

async function main() {
  const limiter = new RateLimiter({
    store: memoryStore(),
    policy: fixedWindow({ limit: 2, window: '1m' }),
  })
  const answers = []
  for (let i = 0; i < 3; i++) answers.push((await limiter.consume('someone')).allowed)
  assert.deepEqual(answers, [true, true, false])

  const app = express()
  app.use(rateLimit({ limit: 1, window: '1m' }))
  app.get('/', (_req, res) => res.send('ok'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${server.address().port}/`
  const statuses = [(await fetch(url)).status, (await fetch(url)).status]
  server.close()
  server.closeAllConnections()
  assert.deepEqual(statuses, [200, 429])
  assert.equal(weirStore(memoryStore()).prefix, 'express-rate-limit')
  assert.equal(
    simulation({ policies: fixedWindow({ limit: 1, window: '1m' }) }).report().entries,
    0,
  )
  assert.match((await prometheus([limiter]).scrape()).body, /outcome="denied"/)
  observe([limiter])()
  const page = dashboard({ limiters: [limiter], log() {} })
  assert.equal((await page.fetch(new Request('http://localhost/'))).status, 401)
  assert.ok(MetricsModule.forRoot().module)
  assert.ok(RateLimitModule.forRoot({ limit: 1, window: '1m' }).module)
  for (const entry of require('./entries.json')) require(entry)
  console.log('CommonJS consumer: ok')
}

void main()
