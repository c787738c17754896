// A process of a fleet: a limiter on a Redis, and its dashboard. It reads commands from lines:
// `consume <key> <times>`.

import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { fixedWindow, RateLimiter, recommendedRedisOptions, redisStore } from '@weir/core'
import { dashboard } from '@weir/dashboard'
import { Redis } from 'ioredis'

const [url = ''] = process.argv.slice(2)
// With long timeouts, since each decision is counted even on a busy machine.
const client = new Redis(url, { ...recommendedRedisOptions, connectTimeout: 5_000 })
client.on('error', () => {})
const store = redisStore(client, { deadlineMs: 10_000, whenUnavailable: 'throw' })
const policy = fixedWindow({ name: 'hourly', limit: 1, window: '1h' })
const limiter = new RateLimiter({ name: 'api', store, policy })
const page = dashboard({ limiters: [limiter], actions: true, showKeys: true, log() {} })
const server = createServer(page.handler)
await limiter.peek('first')
server.listen(0, '127.0.0.1', () => {
  console.log(page.address(`http://127.0.0.1:${server.address().port}`))
})

for await (const line of createInterface({ input: process.stdin })) {
  const [, key = '', times] = line.split(' ')
  for (let i = 0; i < Number(times); i += 1) await limiter.consume(key)
  console.log('done')
}
process.exit()
