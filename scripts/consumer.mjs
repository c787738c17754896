// An ESM application that installed the packed tarballs.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { weirStorage } from '@weir/compat/nest-throttler'
import { fixedWindow, memoryStore, RateLimiter } from '@weir/core'
import { fromGlide } from '@weir/core/glide'
import { fromNodeRedis } from '@weir/core/node-redis'
import { dashboard } from '@weir/dashboard'
import { rateLimit } from '@weir/express'
import { observe } from '@weir/metrics/otel'
import { prometheus } from '@weir/metrics/prometheus'
import express from 'express'
import 'reflect-metadata'
import { MetricsModule } from '@weir/metrics/nest'
import { RateLimitModule } from '@weir/nest'
import { parserOf } from '@weir/simulate'
import { simulateLog } from '@weir/simulate/node'

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
assert.equal(typeof fromNodeRedis, 'function')
assert.equal(parserOf('clf').parse(''), undefined)
assert.equal(typeof simulateLog, 'function')
assert.equal(typeof fromGlide, 'function')
assert.equal(typeof weirStorage(memoryStore()).increment, 'function')
assert.match((await prometheus([limiter]).scrape()).body, /outcome="denied"/)
observe([limiter])()
const page = dashboard({ limiters: [limiter], log() {} })
assert.equal((await page.fetch(new Request('http://localhost/'))).status, 401)
assert.ok(MetricsModule.forRoot().module)
assert.ok(RateLimitModule.forRoot({ limit: 1, window: '1m' }).module)
for (const entry of JSON.parse(readFileSync('entries.json', 'utf8'))) await import(entry)
console.log('ESM consumer: ok')
