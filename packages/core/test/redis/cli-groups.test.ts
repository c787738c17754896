// The command groups of `weir` that come from the project's @weir/simulate: how they are found,
// what they get, and how they end. A package of the tests takes its place.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { weir } from '../../src/cli/main.js'
import { workerRedis } from './servers.js'

const { port } = workerRedis()
const core = join(import.meta.dirname, '../..')
const cli = join(core, 'dist/cli.cjs')

/** The folder of a project, in which the package runs this code as the body of its `command`. */
function projectWith(body?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-groups-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const simulate = join(folder, 'node_modules/@weir/simulate')
  mkdirSync(simulate, { recursive: true })
  const ioredis = join(folder, 'node_modules/ioredis')
  symlinkSync(join(core, 'node_modules/ioredis'), ioredis, 'dir')
  const exports = body === undefined ? {} : { './cli': './cli.cjs' }
  const manifest = { name: '@weir/simulate', version: '1.0.0', exports }
  writeFileSync(join(simulate, 'package.json'), JSON.stringify(manifest))
  const source = `exports.command = async (group, args, io, tools) => { ${body} }`
  writeFileSync(join(simulate, 'cli.cjs'), source)
  return folder
}

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function run(cwd: string, ...args: string[]): Promise<Ended> {
  const env = { ...process.env, NODE_PATH: '', WEIR_HASH_KEYS: 'a secret of the tests' }
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [cli, ...args],
      { cwd, env },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr })
      },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
  })
}

test('without @weir/simulate, weir why says how to install it, and ends with code 2', async () => {
  const { code, stdout, stderr } = await run(projectWith(), 'why', '--key', 'u1')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('WEIR_INVALID_OPTION: ')
  expect(stderr).toContain('weir why needs @weir/simulate, which this folder does not have')
  expect(stderr).toContain('npm install --save-dev @weir/simulate')
})

test('a group gets its arguments unchanged, and its exit code is that of the command', async () => {
  const folder = projectWith(
    'io.out(JSON.stringify([group, args, io.progress === undefined, io.signal.aborted, ' +
      'io.env.WEIR_HASH_KEYS, typeof io.input.read])); return 3',
  )
  const { code, stdout, stderr } = await run(folder, 'why', '--key', 'u1', '--help')
  expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
  const env = 'a secret of the tests'
  expect(JSON.parse(stdout)).toEqual([
    'why',
    ['--key', 'u1', '--help'],
    true,
    false,
    env,
    'function',
  ])
})

test('a group opens the store that the options name, which neither counts itself nor decides locally', async () => {
  const folder = projectWith(`
    const place = { redis: args[0], prefix: 'groups' }
    const { store, settings, trouble, close } = await tools.openStore(place)
    const { version } = await settings.news('none')
    io.out(JSON.stringify([version, store.health().instances, settings.hidden('k').length, trouble()]))
    close()
    return 0`)
  const { code, stdout } = await run(folder, 'why', `redis://127.0.0.1:${port}`)
  expect({ code, said: JSON.parse(stdout) }).toEqual({ code: 0, said: [0, 1, 22, null] })
})

test.each([
  ["Object.assign(new Error('no key'), { code: 'WEIR_X', exitCode: 2 })", 2, 'WEIR_X: no key\n'],
  ["Object.assign(new Error('no store'), { code: 'WEIR_Y' })", 1, 'WEIR_Y: no store\n'],
  ["new TypeError('a bug')", 1, 'TypeError: a bug\n    at '],
])('an error of a group is printed, with its exit code: %s', async (error, code, message) => {
  const ended = await run(projectWith(`throw ${error}`), 'simulate')
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
})

test.each([
  [
    'aborts a group, which then ends by itself with code 130',
    `const timer = setInterval(() => {}, 1_000)
    await new Promise((resolve) => { io.signal.onabort = resolve; io.out('it runs') })
    clearInterval(timer)
    io.out('cleaned up')
    return 0`,
    { code: 130, signal: null, stdout: 'it runs\ncleaned up\n' },
  ],
  [
    'ends a group that waits for input that never comes',
    "io.out('it runs'); for await (const part of io.input) io.out(String(part)); return 0",
    { code: null, signal: 'SIGINT', stdout: 'it runs\n' },
  ],
  [
    'ends a group that has announced a long computation',
    `io.blocking()
    io.out('it runs')
    await new Promise(setImmediate)
    for (const end = Date.now() + 600_000; Date.now() < end; );
    return 0`,
    { code: null, signal: 'SIGINT', stdout: 'it runs\n' },
  ],
])('an interrupt %s', async (_, body, ended) => {
  const child = spawn(process.execPath, [cli, 'simulate'], { cwd: projectWith(body) })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.on('data', (text) => {
    stdout += text
    if (String(text).includes('it runs')) child.kill('SIGINT')
  })
  const [code, signal] = await once(child, 'close')
  expect({ code, signal, stdout }).toEqual(ended)
})

test('a group that waits for something that never happens fails, and does not end with code 0', async () => {
  const { code, stdout, stderr } = await run(projectWith('await new Promise(() => {})'), 'why')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^WEIR_POLICIES_FAILED: weir why waits for a promise that never settles/)
})

test('the command ends with its group, whatever that left open, and everything is printed', async () => {
  const body = "setInterval(() => {}, 1_000); io.out('x'.repeat(1_000_000)); return 3"
  const { code, stdout } = await run(projectWith(body), 'why')
  expect({ code, length: stdout.length }).toEqual({ code: 3, length: 1_000_001 })
})

test('output that cannot be written is reported, without a stack', async () => {
  const line = `"${process.execPath}" "${cli}" simulate > /dev/full`
  const ended = await new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd: projectWith("io.out('a line')") }, (error, _, stderr) =>
      resolve({ code: error?.code, stderr }),
    )
  })
  const stderr = expect.stringMatching(/^the output cannot be written: ENOSPC[^\n]*\n$/)
  expect(ended).toEqual({ code: 1, stderr })
})

test('when its reader stops reading, a group ends silently, with its usual exit code', async () => {
  const folder = projectWith(
    "for (let i = 0; i < 100_000; i += 1) { io.out('a line'); if (i % 100 === 0) " +
      'await new Promise(setImmediate) } return 4',
  )
  const line = `"${process.execPath}" "${cli}" why | head -n 1; echo "\${PIPESTATUS[0]}"`
  const ended = await new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd: folder }, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    )
  })
  expect(ended).toEqual({ stdout: 'a line\n4\n', stderr: '' })
})

test('the help of the command names all groups, and that of limits its own commands', async () => {
  const helps = await Promise.all([[], ['--help'], ['-h']].map((args) => weir(args)))
  for (const group of ['limits', 'why', 'simulate', 'suggest'])
    for (const help of helps) expect(help.join('\n')).toContain(`\n  weir ${group} `)
  for (const args of [['limits'], ['limits', '--help'], ['limits', 'set', '-h']])
    expect((await weir(args)).join('\n')).toContain('\n  weir limits rollback VERSION ')
})
