// What bundlers make of applications, both from the published packages and from the files that
// those are made of.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { describe, expect, onTestFinished, test } from 'vitest'
import { run } from './process.js'

const core = resolve(import.meta.dirname, '../../../packages/core')
const PUBLISHED = { '@weir/core': 'dist/module/index.js', '@weir/core/http': 'dist/module/http.js' }
const SEPARATE = { '@weir/core': 'build/index.js', '@weir/core/http': 'build/http/index.js' }

const POLICIES = {
  fixedWindow: `fixedWindow({ limit: 1, window: '1m' })`,
  slidingCounter: `slidingCounter({ limit: 1, window: '1m' })`,
  slidingLog: `slidingLog({ limit: 1, window: '1m' })`,
  tokenBucket: `tokenBucket({ capacity: 1, refill: 1, every: '1m' })`,
}
type Name = keyof typeof POLICIES
const NAMES = Object.keys(POLICIES) as Name[]
/** Kernels that must not be in the bundle for another algorithm; all bundles have a fixed
 *  window's. */
const KERNELS = { slidingCounter: 'counter1', slidingLog: 'log1', tokenBucket: 'bucket1' }

const limiterOf = (name: Name): string => `
  import { RateLimiter, memoryStore, ${name} } from '@weir/core'
  const limiter = new RateLimiter({ store: memoryStore(), policy: ${POLICIES[name]} })
  const decisions = [await limiter.consume('ann'), await limiter.consume('ann')]
  console.log(JSON.stringify(decisions.map(({ allowed }) => allowed)))
`
const APPLICATIONS: readonly (readonly [what: string, program: string])[] = [
  ...NAMES.map((name) => [`with ${name} alone`, limiterOf(name)] as const),
  ['on Redis', `import { redisStore } from '@weir/core'; console.log(redisStore)`],
  ['that limits HTTP', `import { httpLimiter } from '@weir/core/http'; console.log(httpLimiter)`],
  ['that makes policies', `import { gcra } from '@weir/core'; console.log(gcra)`],
]

/** A plugin: makes `@weir/core` one of these files. */
function taking(program: string, files: Readonly<Record<string, string>>) {
  return {
    name: 'taking',
    resolveId(id: string) {
      if (id === 'application') return id
      const file = files[id]
      return file === undefined ? null : { id: join(core, file), moduleSideEffects: false }
    },
    load(id: string) {
      return id === 'application' ? program : null
    },
  }
}
const external = /^node:/

async function bundled(program: string, files = PUBLISHED): Promise<string> {
  const build = await rolldown({
    input: 'application',
    external,
    plugins: [taking(program, files)],
  })
  const { output } = await build.generate({ minify: true })
  return output[0].code
}

describe('by rolldown', () => {
  /** The size of the marks that let a bundler drop code: a small application has a few. */
  const most = (separate: string): number => separate.length * 1.01 + 50

  test.each(APPLICATIONS)(
    'an application %s is no larger than with separate files',
    async (_, program) => {
      const [published, separate] = [await bundled(program), await bundled(program, SEPARATE)]
      expect(published.length).toBeLessThanOrEqual(most(separate))
    },
  )

  test.each(NAMES)('an application with only %s contains no other algorithm', async (name) => {
    const code = await bundled(limiterOf(name))
    const others = Object.entries(KERNELS).filter(([other]) => other !== name)
    expect(others.filter(([, kernel]) => code.includes(kernel))).toEqual([])
    if (name in KERNELS) expect(code).toContain(KERNELS[name as keyof typeof KERNELS])
  })

  test('a limiter in memory needs no module of Node', async () => {
    expect(await bundled(limiterOf('tokenBucket'))).not.toContain('node:')
  })

  test('a bundled application decides like one that is not bundled', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'weir-bundle-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const name of NAMES) {
      const file = join(folder, `${name}.mjs`)
      writeFileSync(file, await bundled(limiterOf(name)))
      expect(run(`await import(${JSON.stringify(file)})`)).toEqual([true, false])
      expect(run(limiterOf(name))).toEqual([true, false])
    }
  })
})
