// A mutation run of the Lua: changes one line of a kernel, of the driver or of what writes the loop
// for plain requests at a time, in a copy, and looks whether a test notices. Stryker does the same
// for TypeScript (tools/stryker/run.mjs).
//
//   node tools/mutate.mjs [part of a file name]
//
// First each mutant takes walks that the original took (the differential test, recorded once);
// their plain requests are answered by the loop that is made of the kernels' Lua, the others by the
// driver. What survives that meets the whole suites of packages/core. What survives all of them is
// reported, unless tools/mutate/equivalent.txt says why it makes no difference that a test could
// see. WEIR_SEED=n repeats a run.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisServerBinary } from '../internal/testkit/servers/redis.mjs'
import { importFromCore, loadTs } from './load-ts.mjs'
import { mutationsOf } from './mutate/mutations.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const wanted = process.argv[2] ?? ''
const seed = Number(process.env.WEIR_SEED ?? Math.floor(Math.random() * 2 ** 31))
const WALKS_PER_KERNEL = 100
/** TypeScript that writes Lua. */
const PLAIN_LOOP = 'src/redis/transport/plain-loop.ts'
/** For the walks, which take about a second. */
const PATIENCE_MS = 15_000
/** For the suites. Far more than they take, for one that is ended has noticed nothing. */
const SUITES_MS = 600_000
/** Those of packages/core that look at kernels and drivers, but for the differential test. */
const SUITES = [
  'adversary',
  'batch',
  'bucket-exact',
  'conformance',
  'cost',
  'drivers',
  'fallback',
  'driver',
  'headers',
  'kernel-lua',
  'log-cells',
  'local-quotas',
  'log-sums',
  'plain-loop',
  'stores',
  'ttl',
]

process.env.REDIS_SERVER_BIN = redisServerBinary()
const { transformWithOxc } = await importFromCore('vite')
const { startRedis } = await loadTs(join(root, 'internal/testkit/src/index.ts'))
const folder = copyOfCore()
const core = join(folder, 'packages/core')
let bench = await openBench()
try {
  process.exitCode = await main()
} finally {
  await bench.close()
  rmSync(folder, { recursive: true })
}

async function main() {
  console.log(`seed ${seed}; working in ${folder}`)
  const known = explanations()
  const counts = { killed: 0, invalid: 0, equivalent: 0, survived: 0 }
  const survivors = []
  for (const file of mutatedFiles()) {
    const began = performance.now()
    const mutants = mutationsOf(readFileSync(join(core, file), 'utf8'))
    const alive = []
    let silent = 0
    const code = await programOf(file, readFileSync(join(core, file), 'utf8'))
    for (const mutant of mutants) {
      // Only types are different, or it cannot be compiled.
      if ((await programOf(file, mutant.text)) === code) continue
      const outcome = await bench.try(file, mutant)
      if (outcome === undefined) {
        bench = await replaced(bench)
        silent += 1
      }
      if (outcome === 'survived') alive.push(mutant)
      else counts[outcome ?? 'killed'] += 1
    }
    bench = await replaced(bench)
    const seconds = Math.round((performance.now() - began) / 1_000)
    const told = `${alive.length} survived the walks, ${silent} gave no answer`
    console.log(`${file}: ${mutants.length} mutants, ${told} (${seconds} s)`)
    for (const mutant of alive) {
      const name = `${file}: ${mutant.before} => ${mutant.after || '(left out)'}`
      if (known.some((pattern) => pattern.test(name))) {
        counts.equivalent += 1
        continue
      }
      const outcome = process.env.WEIR_WALKS_ONLY ? 'survived' : await trySuites(file, mutant)
      if (outcome === 'killed') {
        counts.killed += 1
        continue
      }
      counts.survived += 1
      const how = outcome === 'survived' ? '' : `, ${outcome}`
      survivors.push(`${name}   (line ${mutant.line}${how})`)
      console.log(`  SURVIVED ${survivors.at(-1)}`)
    }
  }
  const { killed, equivalent, invalid, survived } = counts
  console.log(
    `\nkilled ${killed}, explained ${equivalent}, not a program ${invalid}, survived ${survived}`,
  )
  for (const survivor of survivors) console.log(survivor)
  return survivors.length > 0 ? 1 : 0
}

function mutatedFiles() {
  return readdirSync(join(core, 'src/algorithms'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /(kernel|driver)\.lua$/.test(file))
    .sort()
    .map((file) => `src/algorithms/${file}`)
    .concat(PLAIN_LOOP)
    .filter((file) => file.includes(wanted))
}

/** What is left of TypeScript when its types are gone; Lua as it is. */
async function programOf(file, text) {
  if (file.endsWith('.lua')) return text
  const { code } = await transformWithOxc(text, file).catch(() => ({ code: undefined }))
  return code
}

/** What the mutants are made in. The packages that tests need are used where they are. */
function copyOfCore() {
  const copy = mkdtempSync(join(tmpdir(), 'weir-mutants-'))
  const to = join(copy, 'packages/core')
  mkdirSync(to, { recursive: true })
  for (const part of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(root, 'packages/core', part), join(to, part), { recursive: true })
  }
  for (const part of ['tools', 'docs', 'tsconfig.base.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'packages/core/node_modules'), join(to, 'node_modules'))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Puts a mutant into the copy, does something, and takes it out again. */
async function withMutant(file, { text }, act) {
  const path = join(core, file)
  const original = readFileSync(path, 'utf8')
  const generated = join(core, 'src/algorithms/lua.generated.ts')
  const embedded = readFileSync(generated, 'utf8')
  writeFileSync(path, text)
  try {
    // What cannot be parsed cannot be cut.
    const embeds = file.endsWith('.lua')
    if (embeds && (await run('node', [join(folder, 'tools/embed.mjs')])) !== 0) return 'invalid'
    return await act()
  } finally {
    writeFileSync(path, original)
    writeFileSync(generated, embedded)
  }
}

/**
 * A server, and a process that tries mutants on it. Both are replaced when a mutant never ends, and
 * for each file.
 */
async function openBench() {
  const server = await startRedis()
  const script = fileURLToPath(new URL('mutate/trial.mjs', import.meta.url))
  const child = fork(script, [folder, server.port, seed, WALKS_PER_KERNEL].map(String))
  const ended = once(child, 'exit').then(() => undefined)
  await Promise.race([once(child, 'message'), ended])
  return {
    /** Undefined: no answer. */
    async try(file, mutant) {
      return withMutant(file, mutant, () => {
        child.send({ kernel: kernelOf(file) })
        return withPatience(Promise.race([once(child, 'message').then(([told]) => told), ended]))
      })
    },
    async close() {
      child.kill('SIGKILL')
      await server.stop()
    },
  }
}

async function replaced(bench) {
  await bench.close()
  return openBench()
}

/** What the promise resolves to; undefined if that takes too long. */
async function withPatience(promise) {
  let timer
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS)
  })
  try {
    return await Promise.race([promise, patience])
  } finally {
    clearTimeout(timer)
  }
}

/** The algorithm that a file is of; undefined: of all. */
function kernelOf(file) {
  return /algorithms\/([\w-]+)\//.exec(file)?.[1]
}

/** 'killed': a suite of packages/core fails with the mutant. */
function trySuites(file, mutant) {
  const vitest = join(root, 'packages/core/node_modules/vitest/vitest.mjs')
  return withMutant(file, mutant, async () => {
    const code = await run('node', [vitest, 'run', '--bail=1', ...SUITES], core)
    if (code === undefined) return 'timed out'
    return code === 0 ? 'survived' : 'killed'
  })
}

/** The code it ends with; undefined: it took too long. */
async function run(command, args, cwd = folder) {
  const child = spawn(command, args, { cwd, stdio: 'ignore', env: { ...process.env, CI: '1' } })
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, SUITES_MS)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  return isLate ? undefined : code
}

/** Mutants that are as good as the original: patterns in which `*` stands for anything. */
function explanations() {
  const text = readFileSync(new URL('mutate/equivalent.txt', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => new RegExp(`^${line.split('*').map(escaped).join('.*')}$`))
}

function escaped(text) {
  return text.replace(/[.+?^${}()|[\]\\/]/g, '\\$&')
}
