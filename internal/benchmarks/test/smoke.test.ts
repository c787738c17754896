// Scenarios run, find their limits kept, and can be reported: four for each change, one of each
// kind; all weekly. Figures need a run on an idle machine.

import { isWeekly, otherServer, serverBinary } from '@weir/testkit'
import { expect, test } from 'vitest'
import { BUILT, nextMessage, startChild } from '../src/child.js'
import type { Job } from '../src/memory/main.js'
import { MAP } from '../src/memory/subjects.js'
import { BUCKET } from '../src/policies.js'
import { sectionText } from '../src/report.js'
import { TINY } from '../src/scenario.js'
import { frameworks } from '../src/scenarios/frameworks.js'
import { distinctKeysLoad } from '../src/scenarios/load.js'
import { memoryOneKey } from '../src/scenarios/memory.js'
import { middlewareAlone } from '../src/scenarios/middleware.js'
import { redisBytes } from '../src/scenarios/redis-bytes.js'
import { onEach, servers } from '../src/scenarios/servers.js'
import { compare, versions } from '../src/scenarios/versions.js'
import { scenarios } from '../src/scenarios.js'

const some = [distinctKeysLoad, redisBytes, memoryOneKey, middlewareAlone]

test.concurrent.each(isWeekly ? [...scenarios, frameworks] : some)('$id', async (scenario) => {
  const tables = await scenario.measure(TINY)
  for (const { rows } of tables) {
    for (const { samples } of rows) {
      for (const value of Object.values(samples).flat()) expect(value).not.toBeNaN()
    }
  }
  expect(sectionText({ scenario, tables })).not.toMatch(/NaN|undefined/)
})

test('a memory store is measured in a separate process', async () => {
  const job: Job = { subject: MAP, exercise: 'one-key', scale: TINY }
  const turn = await nextMessage<Record<string, number>>(startChild('memory/main.js', job))
  expect(turn.cpuNs).toBeGreaterThan(0)
})

if (isWeekly)
  test('servers are measured side by side', async () => {
    const tables = await onEach(TINY, [BUCKET], [serverBinary(), otherServer('valkey', 'newest')])
    expect(sectionText({ scenario: servers, tables })).toMatch(/bucket, Redis 7(.|\n)*Valkey 9/)
  })

if (isWeekly)
  test('two versions are measured side by side', async () => {
    const tables = await compare(TINY, BUILT, [BUCKET])
    for (const { rows } of tables) {
      for (const { samples } of rows) {
        for (const values of Object.values(samples)) {
          expect(values.length).toBeGreaterThan(0)
          for (const value of values) expect(value).not.toBeNaN()
        }
      }
    }
    expect(sectionText({ scenario: versions, tables })).toContain(
      '| present | reference | present / reference |',
    )
  })
