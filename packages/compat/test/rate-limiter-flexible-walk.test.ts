// Random programs on rate-limiter-flexible and on its classes over Weir, in parallel. Documented
// differences (docs/compat.md) are left out: points below 0, what a block
// counts, a block that is shortened, the window of a key that lost all its points, and what the
// original says in memory of the request that begins a block.

import { seedOf, stepsOf } from '@weir/testkit'
import { randomOf } from '@weir/testkit/virtual-time'
import { afterEach, expect, test, vi } from 'vitest'
import { clientOf, KINDS, LIBRARIES, type Limiter, makerOf, type Options } from './flexible.js'
import { onRedis } from './on-redis.js'

const redis = onRedis()
const application = clientOf(redis)

const STEPS = stepsOf(400, 10_000)
const POINTS = 5
const DURATION = 60
const KEYS = ['a', 'b', 'c']

afterEach(() => {
  vi.useRealTimers()
})

interface Seen {
  readonly isGranted: boolean
  readonly consumed: number
  readonly remaining: number
  readonly ms: number
  readonly isFirst: boolean
}

async function seen(call: Promise<unknown>): Promise<Seen | boolean | null> {
  const plain = (isGranted: boolean) => (result: unknown) => {
    if (result instanceof Error) throw result
    if (typeof result !== 'object' || result === null) return result as boolean | null
    const { consumedPoints, remainingPoints, msBeforeNext } = result as Record<string, number>
    return {
      isFirst: (result as { isFirstInDuration: boolean }).isFirstInDuration,
      isGranted,
      consumed: consumedPoints as number,
      remaining: remainingPoints as number,
      ms: msBeforeNext as number,
    }
  }
  return call.then(plain(true), plain(false))
}

const OPTIONS: readonly Options[] = [
  { points: POINTS, duration: DURATION },
  { points: POINTS, duration: DURATION, blockDuration: 30 },
  { points: POINTS, duration: DURATION, blockDuration: 90 },
  { points: 0, duration: DURATION },
]

test.each(KINDS.flatMap((kind) => OPTIONS.map((options) => [kind, options] as const)))(
  'in %s with %o, all calls say the same',
  async (kind, options) => {
    // Time passes only in memory; keys in Redis must not expire by themselves.
    const isInMemory = kind === 'memory'
    if (isInMemory) vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
    const seed = seedOf(OPTIONS.indexOf(options))
    const { chance, pick, whole } = randomOf(seed)
    /** The ends of blocks, which no method reports. */
    const blocks = new Map<string, number>()
    const blockedUntil = (key: string): number => blocks.get(key) ?? 0
    const [there, here] = [LIBRARIES.there, LIBRARIES.here].map((library) =>
      makerOf(library, kind, application.client)(options),
    ) as [Limiter, Limiter]

    // A call whose script the server does not know yet is sent again, after later ones.
    for (const limiter of [there, here]) {
      await limiter.penalty('known')
      await limiter.reward('known')
    }

    for (let step = 0; step < STEPS; step += 1) {
      const key = pick(KEYS)
      const known = await there.get(key)
      const consumed = known?.consumedPoints ?? 0
      const isBlocked = blockedUntil(key) > Date.now()
      const ask = askOf(key, consumed, isBlocked)
      const [theirs, ours] = [await seen(ask.of(there)), await seen(ask.of(here))]
      const told = `seed ${seed}, step ${step}: ${ask.name} of ${key}`
      if (typeof theirs === 'boolean' || theirs === null) expect(ours, told).toEqual(theirs)
      else {
        const { isGranted, ms, isFirst, ...numbers } = theirs
        const { blockDuration = 0, points } = options
        const isPast = ask.name.startsWith('consume') && consumed <= points && !isGranted
        const begins = isPast && blockDuration > 0
        const same = { isGranted, ...numbers, ...(begins && isInMemory ? {} : { isFirst }) }
        expect(ours, told).toMatchObject(isBlocked ? { isGranted, isFirst } : same)
        expect(Math.abs((ours as Seen).ms - ms), told).toBeLessThan(isInMemory ? 2 : 5_000)
        if (begins) blocks.set(key, Date.now() + blockDuration * 1_000)
      }
      if (isInMemory && chance(0.2)) vi.advanceTimersByTime(whole(1, 20_000))
    }

    function askOf(key: string, consumed: number, isBlocked: boolean) {
      const dice = whole(0, 9)
      const points = dice === 0 && consumed > 0 ? 0 : whole(1, 3)
      if (dice < 5) return named(`consume ${points}`, (limiter) => limiter.consume(key, points))
      if (dice === 5) return named('get', (limiter) => limiter.get(key))
      if (dice === 6) {
        blocks.delete(key)
        return named('delete', (limiter) => limiter.delete(key))
      }
      if (dice === 7) {
        const left = Math.ceil(Math.max(0, blockedUntil(key) - Date.now()) / 1_000)
        const seconds = left + whole(1, 60)
        blocks.set(key, Date.now() + seconds * 1_000)
        return named(`block ${seconds}`, (limiter) => limiter.block(key, seconds))
      }
      if (isBlocked) return named('get', (limiter) => limiter.get(key))
      if (dice === 8) return named(`penalty ${points}`, (limiter) => limiter.penalty(key, points))
      const back = Math.min(points, consumed - 1)
      if (back > 0) return named(`reward ${back}`, (limiter) => limiter.reward(key, back))
      return named(`set ${points}`, (limiter) => limiter.set(key, points, DURATION))
    }
  },
)

function named(name: string, of: (limiter: Limiter) => Promise<unknown>) {
  return { name, of }
}

test.each(KINDS)(
  'in %s, the first call of a window says so, also if it takes nothing or too much',
  async (kind) => {
    const answers = [LIBRARIES.there, LIBRARIES.here].map(async (library) => {
      const firsts: boolean[] = []
      const limiter = makerOf(library, kind, application.client)({ points: 1, duration: DURATION })
      for (const [key, points] of [
        ['a', 0],
        ['b', 2],
        ['b', 2],
        ['blocked', 2],
        ['c', 1],
        ['c', 0],
      ] as const) {
        if (key === 'blocked') await limiter.block(key, 30)
        firsts.push(((await seen(limiter.consume(key, points))) as Seen).isFirst)
      }
      return firsts
    })
    const [theirs, ours] = await Promise.all(answers)
    expect(ours).toEqual(theirs)
    expect(ours).toEqual([true, true, false, false, true, false])
  },
)

test('on Redis, points may be texts of digits, which count as their numbers', async () => {
  const texts = ['2', '10', '1'] as unknown as readonly number[]
  const [there, here] = [LIBRARIES.there, LIBRARIES.here].map((library) =>
    makerOf(library, 'redis', application.client)({ points: POINTS, duration: DURATION }),
  ) as [Limiter, Limiter]
  for (const points of texts) {
    for (const call of ['consume', 'penalty', 'reward', 'consume'] as const) {
      const [theirs, ours] = [there, here].map((limiter) => seen(limiter[call]('k', points)))
      const { isGranted, consumed, remaining } = (await theirs) as Seen
      expect(await ours, `${call} ${points}`).toMatchObject({ isGranted, consumed, remaining })
    }
    for (const limiter of [there, here]) {
      await limiter.set('set', points, DURATION)
      expect(await limiter.get('set')).toMatchObject({ consumedPoints: Number(points) })
    }
  }
})

test.each(['', '0', '02', '-1', '1.5', '1e3', ' 1', '0x1', 'x'])(
  'a text that is no whole number from 1, %j, is an error there and here',
  async (text) => {
    for (const library of [LIBRARIES.there, LIBRARIES.here]) {
      const limiter = makerOf(library, 'redis', application.client)({ points: 5, duration: 60 })
      await expect(limiter.consume('k', text as never)).rejects.toBeInstanceOf(Error)
      expect(await limiter.get('k')).toBeNull()
    }
  },
)
