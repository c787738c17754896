// Programs that tests need are fetched once, whoever asks at the same time.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../src/index.js'

const MODULE = pathToFileURL(join(import.meta.dirname, '../servers/once.mjs')).href

/**
 * Asks for a program; prints whether it runs. Each fetch is a line of `fetches`, and ends when the
 * given number of processes have asked.
 */
const ASK = `
  import { spawnSync } from 'node:child_process'
  import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
  import { once } from ${JSON.stringify(MODULE)}
  const [folder, askers] = process.argv.slice(1)
  const to = folder + '/it'
  const runs = () => spawnSync(to + '/program').status === 0
  appendFileSync(folder + '/asks', '.')
  once(to, runs, (part) => {
    appendFileSync(folder + '/fetches', '.')
    writeFileSync(part + '/program', '#!/bin/sh\\nexit 1\\n', { mode: 0o755 })
    const pause = new Int32Array(new SharedArrayBuffer(4))
    while (readFileSync(folder + '/asks').length < askers) Atomics.wait(pause, 0, 0, 10)
    writeFileSync(part + '/program', '#!/bin/sh\\nexit 0\\n')
  })
  console.log(runs())`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-once-'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

/** A process that asks; if it fetches, it waits until this many ask. */
function asks(askers: number): ChildProcess {
  const args = ['--input-type=module', '-e', ASK, folder, String(askers)]
  const child = spawn(process.execPath, args, { stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function answerOf({ stdout }: ChildProcess): Promise<string> {
  return (await text(stdout as NodeJS.ReadableStream)).trim()
}

async function fetches(): Promise<number> {
  return (await readFile(join(folder, 'fetches'), 'utf8').catch(() => '')).length
}

test('of eight processes that ask at once, one fetches, and each gets a program that runs', async () => {
  const all = Array.from({ length: 8 }, () => asks(8))
  expect(await Promise.all(all.map(answerOf))).toEqual(Array(8).fill('true'))
  expect(await fetches()).toBe(1)
  expect((await readdir(folder)).sort()).toEqual(['asks', 'fetches', 'it', 'it.lock'])
})

test('when the one that fetches is killed, one that waits fetches', async () => {
  const owner = asks(Number.POSITIVE_INFINITY)
  await waitUntil('a fetch to begin', async () => (await fetches()) === 1, 60_000)
  const others = [asks(0), asks(0)]
  const waits = others.map(({ stderr }) => once(stderr as NodeJS.ReadableStream, 'data'))
  for (const said of await Promise.all(waits))
    expect(String(said)).toBe('weir: waiting for another process, which fetches it\n')
  owner.kill('SIGKILL')
  expect(await Promise.all(others.map(answerOf))).toEqual(['true', 'true'])
  expect(await fetches()).toBe(2)
})
