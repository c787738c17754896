// @ts-check
// The gateway, as its clients see it.

import { once } from 'node:events'
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { recommendedRedisOptions, redisStore } from '@weir/core'
import { startRedis } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { costOf, limiterOn, PART, PRICES } from '../src/limits.js'
import { fakeModelApi } from '../src/model.js'

/** For a busy machine. */
const PATIENT = { timeout: 60_000 }
const LIMITS = { turns: 20, tools: 40, tokens: 20_000, user: 500_000, company: 5_000_000 }
/** Limits that nobody reaches: policies that differ only in their limit share a counter, and these
 *  show what is counted beyond a limit too. */
const PLENTY = { turns: 2 ** 40, tools: 2 ** 40, tokens: 2 ** 40, user: 2 ** 40, company: 2 ** 40 }
const NOTHING = { turns: 0, tools: 0, input: 0, output: 0 }
const folder = join(import.meta.dirname, '..')

/** @param {{ apiKey?: string, session?: string, run?: string }} [who] */
function headersOf({ apiKey = 'key-of-ann', session = 's1', run = 'r1' } = {}) {
  return { Authorization: `Bearer ${apiKey}`, 'X-Session': session, 'X-Run': run }
}

/**
 * @param {string} url @param {object} completion
 * @param {Parameters<typeof headersOf>[0]} [who] @param {AbortSignal} [signal]
 */
function ask(url, completion, who, signal) {
  const request = { method: 'POST', headers: headersOf(who), body: JSON.stringify(completion) }
  return fetch(url, { ...request, ...(signal && { signal }) })
}

/** What is spent or held. @param {string} url @param {Parameters<typeof headersOf>[0]} [who] */
async function usedOf(url, who) {
  const response = await fetch(`${url}/usage`, { headers: headersOf(who) })
  const usage = /** @type {Record<string, { used: number }>} */ (await response.json())
  return Object.fromEntries(Object.entries(usage).map(([name, { used }]) => [name, used]))
}

/** @param {Response} refusal */
async function typeOf(refusal) {
  const { error } = /** @type {{ error: { type: string } }} */ (await refusal.json())
  return error.type
}

/** The events of a stream, as far as it came. @param {Response} response */
async function eventsOf(response) {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk)
  } catch {}
  const lines = text.split('\n\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}

/** A gateway that has reached Redis: before, it decides by itself, and reports afterwards.
 *  @param {Record<string, string>} settings */
async function connected(settings) {
  const started = await startExample(folder, settings)
  const headers = headersOf()
  const status = async () => (await fetch(`${started.url}/usage`, { headers })).status
  await expect.poll(status, PATIENT).toBe(200)
  return started
}

/** A Redis with the clock of a reader, and what is counted there at a time.
 *  @param {import('../src/limits.js').Limits} limits */
async function redisWith(limits) {
  const redis = await startRedis()
  const client = new Redis(redis.url, { ...recommendedRedisOptions, connectTimeout: 5_000 })
  client.on('error', () => {})
  await once(client, 'ready')
  let atUs = Date.now() * 1_000
  const patient = /** @type {const} */ ({ deadlineMs: 20_000, whenUnavailable: 'throw' })
  const clock = { nowUs: () => atUs }
  const store = redisStore(client, { ...patient, denyCache: false, clock })
  onTestFinished(async () => {
    await store.close()
    client.disconnect()
    await redis.stop()
  })
  const limiter = limiterOn(store, PLENTY)
  const nowUs = async () => {
    const [seconds, us] = await client.time()
    return Number(seconds) * 1_000_000 + Number(us)
  }
  return {
    settings: { REDIS_URL: redis.url, DEADLINE_MS: '20000', LIMITS: JSON.stringify(limits) },
    nowUs,
    /** @param {string} run @param {number} [us] */
    async counted(run, us) {
      atUs = us ?? (await nowUs())
      const { policies } = await limiter.peek(run)
      return policies.slice(0, -1).map(({ limit, remaining }) => limit - remaining)
    },
  }
}

test('one decision charges run, session, user and company, and each request what it used, however it ends', async () => {
  const { url, stop } = await startExample(folder, { ADMIN_PASSWORD: 'secret' })
  const prompt = 'tool or not tool'
  const whole = await ask(url, { prompt, max_tokens: 600, max_tools: 5 })
  expect(whole.status).toBe(200)
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'x-left-turns': '19',
    'x-left-tools': '35',
    'x-left-tokens': String(20_000 - PART - 4),
    'x-left-user': String(500_000 - 15 * PART - 3 * 4),
  })
  const events = await eventsOf(whole)
  expect(events).toHaveLength(600)
  const { usage } = events.at(-1)
  expect(usage).toEqual({ turns: 1, tools: 5, input: 7, output: 600 })
  const used = { turns: 1, tools: 5, tokens: 607, user: 9_021, company: 9_021 }
  /** @param {number} input @param {number} output */
  const usedNow = async (input, output) => {
    used.turns += output > 0 ? 1 : 0
    used.tokens += input + output
    used.user = used.company += 3 * input + 15 * output
    await expect.poll(() => usedOf(url), PATIENT).toEqual(used)
  }
  await usedNow(0, 0)

  // The model failed at once, so nothing was used.
  expect((await ask(url, { prompt: 'fail' })).status).toBe(502)
  await usedNow(0, 0)

  // The model broke off after three words: the client sees it, and pays for those.
  const broken = await ask(url, { prompt: 'crash' })
  await expect(broken.text()).rejects.toThrow()
  await usedNow(5, 3)

  // The client leaves while the model hangs.
  const leaving = new AbortController()
  const left = await ask(url, { prompt: 'hang', max_tokens: 4_000 }, {}, leaving.signal)
  const reader = left.body?.getReader()
  let text = ''
  while (!text.includes('"output":80')) text += Buffer.from((await reader?.read())?.value ?? [])
  leaving.abort()
  await usedNow(4, 80)

  // Another run of this session, another session, and another user.
  const { turns: _, tools: __, ...ofSession } = used
  expect(await usedOf(url, { run: 'r2' })).toEqual({ turns: 0, tools: 0, ...ofSession })
  expect(await usedOf(url, { session: 's2' })).toMatchObject({ tokens: 0, user: used.user })
  const ofBob = await usedOf(url, { apiKey: 'key-of-bob' })
  expect(ofBob).toMatchObject({ tokens: 0, user: 0, company: used.company })

  // No time gives turns back.
  for (let i = used.turns; i < 20; i += 1)
    await (await ask(url, { prompt: 'x', max_tokens: 1 })).text()
  const refused = await ask(url, { prompt: 'x', max_tokens: 1 })
  expect(refused.status).toBe(429)
  expect(await refused.json()).toEqual({ error: { code: 'budget_exceeded', type: 'turns' } })
  expect(refused.headers.has('retry-after')).toBe(false)

  expect((await ask(url, { prompt: 'x' }, { apiKey: 'made-up' })).status).toBe(401)
  const admin = { Authorization: `Basic ${btoa('admin:secret')}` }
  expect((await fetch(`${url}/weir/`, { headers: admin })).status).toBe(200)
  for (const headers of [{}, headersOf()])
    expect((await fetch(`${url}/weir/`, { headers })).status).toBe(401)
  const bob = { apiKey: 'key-of-bob' }
  for (const run of ['', 'a/b', 'x'.repeat(65)])
    expect((await ask(url, { prompt: 'x' }, { ...bob, run })).status).toBe(400)
  const wrong = [{}, { max_tokens: 0 }, { max_tokens: 1e9 }, { max_tools: -1 }, { prompt: 7 }]
  for (const parts of [...wrong.slice(1).map((part) => ({ prompt: 'x', ...part })), {}])
    expect((await ask(url, parts, bob)).status).toBe(400)
  expect((await ask(url, { prompt: 'x'.repeat(70_000) }, bob)).status).toBe(400)
  expect(await stop()).toBe(0)
})

test('below a fifth of its dollars a user is warned and gets the cheaper model, and a stream stops when nothing is left', async () => {
  const { url, output, stop } = await startExample(folder, { LIMITS: '{"user": 10500}' })
  const completion = { prompt: 'word', max_tokens: 500 }
  const dollars = (/** @type {keyof typeof PRICES} */ model, /** @type {number} */ output) =>
    PRICES[model].input * 4 + PRICES[model].output * output
  const first = await ask(url, completion)
  expect(first.headers.has('x-low')).toBe(false)
  await first.text()
  let used = dollars('large', 500)
  await expect.poll(async () => (await usedOf(url)).user, PATIENT).toBe(used)
  const second = await ask(url, completion)
  expect(second.headers.get('x-low')).toBe('user')
  await second.text()
  used += dollars('small', 500)
  await expect.poll(async () => (await usedOf(url)).user, PATIENT).toBe(used)
  const third = await ask(url, { ...completion, max_tokens: 4_000 })
  const events = await eventsOf(third)
  expect(events.at(-1)).toEqual({ stopped: 'user' })
  used += dollars('small', events.at(-2).usage.output)
  await expect.poll(async () => (await usedOf(url)).user, PATIENT).toBe(used)
  // The next part does not fit. Each part ends with the token after it.
  expect(used).toBeGreaterThan(10_500 - PRICES.small.output * PART)
  expect(used).toBeLessThanOrEqual(10_500 + PRICES.small.output + 3)
  expect((await ask(url, completion)).status).toBe(429)
  expect(output()).toContain('acme/ann has used 80 % of what the user may spend')
  expect(await stop()).toBe(0)
})

test('two gateways on one Redis do not ask a busy provider before it said', async () => {
  /** @type {number[]} */
  const askedMs = []
  const provider = fakeModelApi().on('request', () => askedMs.push(Date.now()))
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void provider.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (provider.address())
  const { settings } = await redisWith(LIMITS)
  const env = { ...settings, MODEL_URL: `http://127.0.0.1:${port}` }
  const [one, other] = await Promise.all([connected(env), connected(env)])
  const busy = await ask(one.url, { prompt: 'busy' })
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '2'])
  /** @param {string} url @param {number} status */
  const answers = async (url, status) => {
    const response = await ask(url, { prompt: 'x', max_tokens: 1 }, { run: 'r2' })
    if (response.status === 503) expect(await response.text()).toContain('provider_busy')
    expect(response.status).toBe(status)
  }
  await Promise.all([answers(one.url, 503), answers(other.url, 503)])
  await vi.waitFor(() => answers(other.url, 200), PATIENT)
  expect(askedMs).toHaveLength(2)
  expect(Number(askedMs[1]) - Number(askedMs[0])).toBeGreaterThanOrEqual(2_000)
  // What was refused cost nothing.
  await expect.poll(() => usedOf(one.url, { run: 'r2' }), PATIENT).toMatchObject({ turns: 1 })
  expect(await usedOf(one.url)).toMatchObject({ turns: 0 })
  expect([await one.stop(), await other.stop()]).toEqual([0, 0])
})

test('over two gateways, no run, session, user or company is above its budget by more than its requests used beyond their estimates, and what is counted is what was used', async () => {
  const limits = { turns: 5, tools: 5, tokens: 1_500, user: 50_000, company: 80_000 }
  const { settings, counted } = await redisWith(limits)
  const gateways = await Promise.all([connected(settings), connected(settings)])
  const random = randomOf(1)
  const refusals = new Set()
  const requests = Array.from({ length: 150 }, async () => {
    const user = random.pick(['ann', 'bob'])
    const session = random.pick(['s1', 's2', 's3', 's4'])
    const who = { apiKey: `key-of-${user}`, session, run: random.pick(['r1', 'r2', 'r3']) }
    const prompt = random.pick(['a tool', 'no help', 'crash', 'fail'])
    const most = { max_tokens: random.whole(1, 300), max_tools: random.whole(0, 3) }
    const response = await ask(random.pick(gateways).url, { prompt, ...most }, who)
    const events = response.status === 200 ? await eventsOf(response) : []
    if (response.status === 429) refusals.add(await typeOf(response))
    if (events.at(-1)?.stopped) refusals.add('a part')
    const usage = events.findLast((event) => event.usage)?.usage ?? NOTHING
    const model = response.headers.get('x-model') === 'small' ? 'small' : 'large'
    // Each part ends with the token after it, and the model counts the prompt in its own way.
    const beyond = { turns: 0, tools: 0, input: 3, output: Math.ceil(usage.output / PART) }
    const run = `acme/${user}/${session}/${who.run}`
    return { run, used: costOf(model, usage), beyond: costOf(model, beyond) }
  })
  const ended = await Promise.all(requests)
  const depths = { turns: 4, tools: 4, tokens: 3, user: 2, company: 1 }
  const runs = [...new Set(ended.map(({ run }) => run))]
  const all = runs.map((run) =>
    Object.entries(depths).map(([name, depth]) => {
      const unit = /** @type {keyof typeof depths} */ (name)
      const start = `${run.split('/', depth).join('/')}/`
      const same = ended.filter((each) => `${each.run}/`.startsWith(start))
      const used = same.reduce((sum, each) => sum + each.used[unit], 0)
      const most = same.reduce((sum, each) => sum + each.beyond[unit], limits[unit])
      expect(used, `${name} of ${start}`).toBeLessThanOrEqual(most)
      return used
    }),
  )
  await expect.poll(() => Promise.all(runs.map((run) => counted(run))), PATIENT).toEqual(all)
  expect([...refusals]).toContain('a part')
  expect(refusals.size).toBeGreaterThan(2)
  for (const { stop } of gateways) expect(await stop()).toBe(0)
})

test('a gateway that is killed in the middle of 100 streams gives back the part that each held after holdTimeout, none earlier and none twice, and what they had used stays spent', async () => {
  const limits = { turns: 200, tools: 40, tokens: 100_000, user: 5_000_000, company: 5_000_000 }
  const { settings, nowUs, counted } = await redisWith(limits)
  const holdMs = 60_000
  const { url, kill } = await connected(settings)
  const startUs = await nowUs()
  // Each has settled its first part when the model hangs after 80 tokens.
  const body = { prompt: 'hang', max_tokens: 4_000 }
  const streams = Array.from({ length: 100 }, () => ask(url, body).then(eventsOf))
  const spent = [100, 0, 100 * (PART + 1 + 4), ...Array(2).fill(100 * (15 * (PART + 1) + 3 * 4))]
  const held = [0, 0, 100 * PART, ...Array(2).fill(100 * 15 * PART)]
  const both = spent.map((units, i) => units + Number(held[i]))
  const run = 'acme/ann/s1/r1'
  await expect.poll(() => counted(run), PATIENT).toEqual(both)
  await kill()
  const killedUs = await nowUs()
  await Promise.all(streams)

  expect(await counted(run, startUs + holdMs * 1_000)).toEqual(both)
  const backUs = killedUs + (holdMs + holdMs / 60) * 1_000
  for (const us of [backUs, backUs + 10 * holdMs * 1_000])
    expect(await counted(run, us)).toEqual(spent)
})
