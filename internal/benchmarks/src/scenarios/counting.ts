// What counting adds to a decision. Limiters always count, so the steps of one are taken here with
// a policy set that has counters and with one that has none: what a request asks of a memory store,
// and the decision that is made of the answer.

import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { fixedWindow, memoryStore, type Policy, RateLimiter } from '@weir/core'
import type { PolicySet, Store, StoreRequest } from '@weir/core/store'
import { inRounds, type Turn } from '../rounds.js'
import type { Scale, Scenario } from '../scenario.js'
import type { Kind, Table } from '../table.js'

const LIMIT = 2 ** 40
const LOOK_EVERY = 256

interface Subject {
  readonly name: string
  readonly kind: Kind
  /** Decides until the end; returns how often. */
  ask(end: number): number
}

/** Parts of the core that are not exported. */
interface Parts {
  readonly decisionOfStore: (store: Store, request: StoreRequest) => unknown
  readonly makePolicySet: (
    name: string,
    policies: readonly Policy[],
    when: undefined,
    counters?: object,
  ) => PolicySet
  readonly LimiterCounters: new () => { ofSet(policies: readonly Policy[]): object }
}

export const counting: Scenario = {
  id: 'counting',
  title: 'Counting',
  about:
    'CPU time of a decision of a memory store on one key, with counters and without, and of `decide`, which also checks what it is given.',
  goals: [],
  measure: async (scale) => [
    await measure(scale, 'allowed', LIMIT),
    await measure(scale, 'refused', 0),
  ],
}

async function measure(scale: Scale, id: string, limit: number): Promise<Table> {
  const parts = await partsOfCore()
  const policies = [fixedWindow({ name: 'one', limit, window: '1d' })]
  const whole = new RateLimiter({ name: `counting-${id}`, store: memoryStore(), policy: policies })
  const counters = new parts.LimiterCounters().ofSet(policies)
  const subjects: readonly Subject[] = [
    stepsOf('Weir, not counted', parts, parts.makePolicySet('plain', policies, undefined)),
    stepsOf('Weir, counted', parts, parts.makePolicySet('counted', policies, undefined, counters)),
    { name: 'Weir, decide', kind: 'weir', ask: (end) => asked(() => whole.decide('k'), end) },
  ]
  const turn = async (subject: Subject): Promise<Turn> => {
    const before = process.cpuUsage()
    const decisions = subject.ask(performance.now() + scale.turnMs)
    const { user, system } = process.cpuUsage(before)
    return { ns: (1_000 * (user + system)) / decisions }
  }
  await inRounds(subjects, 2, turn)
  const samples = await inRounds(subjects, scale.rounds, turn)
  const rows = subjects.map(({ name, kind }, i) => {
    return { subject: name, kind, samples: samples[i] ?? {} }
  })
  const base = 'Weir, not counted'
  const metrics = [{ id: 'ns', title: 'CPU, ns', digits: 1, better: 'less', base }] as const
  return { id: `counting-${id}`, title: `A decision that is ${id}`, metrics, rows }
}

function stepsOf(name: string, parts: Parts, policySet: PolicySet): Subject {
  const store = memoryStore()
  const costs = [1]
  return {
    name,
    kind: 'weir',
    ask: (end) =>
      asked(() => {
        const target = { policySet, key: 'k' }
        return parts.decisionOfStore(store, { mode: 'consume', target, costs, count: 1 })
      }, end),
  }
}

function asked(decide: () => unknown, end: number): number {
  for (let decisions = 1; ; decisions += 1) {
    if (decide() === undefined) throw new Error('no decision was made at once')
    if (decisions % LOOK_EVERY === 0 && performance.now() >= end) return decisions
  }
}

async function partsOfCore(): Promise<Parts> {
  const root = dirname(fileURLToPath(import.meta.resolve('@weir/core')))
  const files = ['limiter/decision.js', 'request.js', 'limiter/counters.js']
  const modules = files.map((file) => import(pathToFileURL(join(root, file)).href))
  return Object.assign({}, ...(await Promise.all(modules))) as Parts
}
