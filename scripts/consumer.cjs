// An application that installed the packed tarballs, by `require` or, with the argument `import`,
// as ESM.
const assert = require('node:assert/strict')

const isEsm = process.argv[2] === 'import'
/** @param {string} name */
const load = async (name) => (isEsm ? import(name) : require(name))

async function main() {
  await load('reflect-metadata')
  const { fixedWindow, memoryStore, RateLimiter } = await load('@weir/core')
  const limiter = new RateLimiter({
    store: memoryStore(),
    policy: fixedWindow({ limit: 2, window: '1m' }),
  })
  const answers = []
  for (let i = 0; i < 3; i++) answers.push((await limiter.consume('someone')).allowed)
  assert.deepEqual(answers, [true, true, false])

  const { rateLimit } = await load('@weir/express')
  const app = require('express')()
  app.use(rateLimit({ limit: 1, window: '1m' }))
  app.get('/', (_req, res) => res.send('ok'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${server.address().port}/`
  const statuses = [(await fetch(url)).status, (await fetch(url)).status]
  server.close()
  server.closeAllConnections()
  assert.deepEqual(statuses, [200, 429])

  const { weirStore } = await load('@weir/compat/express-rate-limit')
  assert.equal(weirStore(memoryStore()).prefix, 'express-rate-limit')
  const { simulation } = await load('@weir/simulate')
  const simulated = simulation({ policies: fixedWindow({ limit: 1, window: '1m' }) })
  assert.equal(simulated.report().entries, 0)
  const { prometheus } = await load('@weir/metrics/prometheus')
  assert.match((await prometheus([limiter]).scrape()).body, /outcome="denied"/)
  const { observe } = await load('@weir/metrics/otel')
  observe([limiter])()
  const { dashboard } = await load('@weir/dashboard')
  const page = dashboard({ limiters: [limiter], log() {} })
  assert.equal((await page.fetch(new Request('http://localhost/'))).status, 401)
  const { MetricsModule } = await load('@weir/metrics/nest')
  assert.ok(MetricsModule.forRoot().module)
  const { RateLimitModule } = await load('@weir/nest')
  assert.ok(RateLimitModule.forRoot({ limit: 1, window: '1m' }).module)
  for (const entry of require('./entries.json')) await load(entry)
  console.log(`${isEsm ? 'ESM' : 'CommonJS'} consumer: ok`)
}

void main()
