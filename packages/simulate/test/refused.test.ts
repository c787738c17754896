import { concurrency, slidingLog, tokenBucket } from '@weir/core'
import { adaptive } from '@weir/core/adaptive'
import { describe, expect, test } from 'vitest'
import { type SimulationOptions, simulation } from '../src/index.js'
import { at, EXACT_US, simulate } from './simulate.js'

const policies = slidingLog({ limit: 2, window: '10s' })

describe('policies that need what a log does not have are refused', () => {
  const api = (policy: unknown) => ({ policies: { api: { policy } } }) as SimulationOptions

  test('slots', () => {
    const options = api(concurrency({ limit: 5, holdTimeout: '30s' }))
    expect(() => simulation(options)).toThrow(
      /"concurrency-5-per-30s", a concurrency, which is not/,
    )
    expect(() => simulation(options)).toThrow(
      expect.objectContaining({ code: 'WEIR_NOT_SIMULATED', exitCode: 2 }),
    )
    const simulated = simulation(api(() => concurrency({ limit: 5, holdTimeout: '30s' })))
    simulated.add({ timeUs: EXACT_US, ip: '192.0.2.1' } as never)
    expect(() => simulated.report()).toThrow(/a concurrency, which is not simulated/)
  })

  test('policies that follow the load', () => {
    const policy = adaptive(tokenBucket({ capacity: 5, refill: 1, every: '1s' }), {
      signal: () => 1,
    })
    expect(() => simulation(api(policy))).toThrow(/adaptive policy, which follows the load/)
  })

  test('policies that are looked up asynchronously', () => {
    const simulated = simulation(api(async () => policies))
    simulated.add({ timeUs: EXACT_US, ip: '192.0.2.1' } as never)
    expect(() => simulated.report()).toThrow(/answers with a promise/)
  })

  test('a sample of requests that are counted together', () => {
    const policy = [{ policy: policies, key: 'all' }]
    const lines = Array.from({ length: 20 }, (_, i) => at([i], { ip: `192.0.2.${i}` })).flat()
    expect(() => simulate({ ...api(policy), sample: 2 }, lines)).toThrow(/leave out --sample/)
  })

  test('invalid policies and functions', () => {
    expect(() => simulation({ policies: 5 as never })).toThrow(
      /policies is 5; give a policy, a list/,
    )
    expect(() => simulation({ policies: {} })).toThrow(/give a policy, a list/)
    expect(() => simulation({ policies: { api: { limit: 5 } as never } })).toThrow(/limiter "api"/)
    expect(() => simulation(api({ limit: 5 }))).toThrow(/WEIR|policy/)
    const key = 'ip' as never
    expect(() => simulation({ policies: { api: { policy: policies, key } } })).toThrow(
      /key is "ip"/,
    )
    const skips = { policy: policies, skips: () => true } as never
    expect(() => simulation({ policies: { api: skips } })).toThrow(/option is "skips"/)
    expect(() => simulation({ policies, key: 'ip+' })).toThrow(/key is "ip\+"; give ip, user/)
    expect(() => simulation({ policies, maxKeys: 0 })).toThrow(/maxKeys is 0/)
    expect(() => simulation({ policies, sample: 1.5 })).toThrow(/sample is 1.5/)
  })

  test('a function that throws is named, with its line', () => {
    const cost = (): number => {
      throw new Error('no \u001b[31mtokens')
    }
    const simulated = simulation({ policies: { api: { policy: policies, cost } } })
    const add = () => simulated.add({ timeUs: EXACT_US, ip: '192.0.2.1' } as never)
    expect(add).toThrow(
      /cost\(entry\) of limiter "api" threw no \\u\{1b\}\[31mtokens \(.*refused\.test\.ts:\d+:\d+\)/,
    )
    expect(add).toThrow(expect.objectContaining({ code: 'WEIR_POLICIES_FAILED' }))
    const policy = (): never => {
      throw new Error('no plan')
    }
    const other = simulation({ policies: { api: { policy } } })
    other.add({ timeUs: EXACT_US, ip: '192.0.2.1' } as never)
    expect(() => other.report()).toThrow(/policy function of limiter "api" threw no plan \(/)
  })
})
