// The exercises of a memory store, each in a separate process.

import { checkCount, checkLimit } from '../exactness.js'
import { randomOrder } from '../redis/keys.js'
import { collectGarbage, type Turn } from '../rounds.js'
import type { Scale } from '../scenario.js'
import type { Subject } from '../subject.js'
import type { Exercise, MemorySubjectKind } from './subject.js'

const LIMIT = 10_000_000
const FEW = 1_000
const DAY_MS = 86_400_000
const LOOK_EVERY = 64
const COPIES = 1_024
/** The turn before the measured one is this many times as long: after 143,000 decisions the reset
 *  of a bucket is beyond 2^31 ms, and V8 recompiles code that was optimized for small integers. */
const WARM_UP = 3

export const exercises: Readonly<
  Record<Exercise, (kind: MemorySubjectKind, scale: Scale) => Promise<Turn>>
> = {
  'one-key': oneKey,
  'many-keys': manyKeys,
}

/** One key, again and again. */
async function oneKey(kind: MemorySubjectKind, { turnMs }: Scale): Promise<Turn> {
  await checkLimit(kind.name, (limit) => kind.open({ limit, windowMs: 60_000, most: 100 }), false)
  const subject = kind.open({
    limit: LIMIT,
    windowMs: kind.onGrid === true ? DAY_MS : 15_000,
    most: 100,
  })
  await askOneKey(kind, subject, 'user-00000001', WARM_UP * turnMs)
  const before = process.cpuUsage()
  const decisions = await askOneKey(kind, subject, 'user-00000002', turnMs)
  const { user, system } = process.cpuUsage(before)
  await checkCount(kind.name, subject, 'user-00000002', decisions, LIMIT)
  subject.close()
  return { cpuNs: ((user + system) * 1_000) / decisions }
}

async function askOneKey(
  { sync }: MemorySubjectKind,
  subject: Subject,
  key: string,
  forMs: number,
): Promise<number> {
  const keys = copiesOf(key)
  const end = performance.now() + forMs
  for (let decisions = 1; ; decisions += 1) {
    if (sync) subject.ask(keys[decisions % COPIES] as string)
    else await subject.ask(keys[decisions % COPIES] as string)
    if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
  }
}

/** Each request has its own copy of the key, so that a lookup has to compare the texts. */
function copiesOf(key: string): readonly string[] {
  return Array.from({ length: COPIES }, () => Buffer.from(key).toString('latin1'))
}

/** Many keys: their memory, and the cost of a decision on a random one. */
async function manyKeys(kind: MemorySubjectKind, { manyKeys: count }: Scale): Promise<Turn> {
  const names = namesOf('user', count)
  const order = randomOrder(count)
  const subject = kind.open({
    limit: FEW,
    windowMs: kind.onGrid === true ? DAY_MS : 3_600_000,
    most: 2 * count,
  })
  await askAll(kind, subject, namesOf('warm', Math.min(count, 20_000)))
  const emptyBytes = weigh()
  await askAll(kind, subject, names)
  const bytes = (weigh() - emptyBytes) / count
  const random = Array.from(order, (place) => names[place] as string)
  const before = process.cpuUsage()
  await askAll(kind, subject, random)
  const { user, system } = process.cpuUsage(before)
  const ofFirst = random.filter((name) => name === random[0]).length
  await checkCount(kind.name, subject, random[0] as string, ofFirst + 1, FEW)
  subject.close()
  return { bytes, cpuNs: ((user + system) * 1_000) / random.length }
}

async function askAll(
  { sync }: MemorySubjectKind,
  subject: Subject,
  names: readonly string[],
): Promise<void> {
  for (const name of names) {
    if (sync) subject.ask(name)
    else await subject.ask(name)
  }
}

/**
 * Flat strings, as those of a request are: a string that is put together from parts would first be
 * copied when it is hashed, and use more memory.
 */
function namesOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => {
    return Buffer.from(`${prefix}-${String(i).padStart(8, '0')}`).toString('latin1')
  })
}

/**
 * The memory in use after garbage collection. Two passes, since the first may only find that
 * something has expired.
 */
function weigh(): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
