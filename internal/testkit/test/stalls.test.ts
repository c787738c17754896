import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { judged, type Stall, watchStalls } from '../src/stalls.js'

/** A machine that stalls for so long in the first attempt, in the second one, and so on. */
function machine(...ms: readonly number[]) {
  const left = [...ms]
  return { watch: () => ({ stop: (): Stall[] => [{ atMs: 0, ms: left.shift() ?? 0 }] }) }
}

/** An attempt that breaks its promise the first times. */
function failing(times: number) {
  let made = 0
  const attempt = async () => {
    made += 1
    if (made <= times) throw new Error(`late ${made}`)
    return made
  }
  return { attempt, made: () => made }
}

test('an attempt during which the machine stalled is no verdict, and is made again', async () => {
  expect(await judged(failing(2).attempt, machine(41, 500))).toBe(3)
  await expect(judged(failing(2).attempt, machine(500, 0))).rejects.toThrow('late 2')
})

test('if the machine stalls each time, that is the error', async () => {
  const { attempt, made } = failing(9)
  const error = await judged(attempt, machine(50, 60, 70, 80, 90)).catch((each) => each)
  expect(String(error)).toMatch(/no verdict, since the machine stalled.*for up to 50 ms.*90 ms/)
  expect(error.cause).toEqual(new Error('late 5'))
  expect(made()).toBe(5)
})

const WATCHES = `
  import { watchStalls } from '@weir/testkit'
  const watch = watchStalls()
  console.log('watches')
  process.stdin.once('data', () => console.log(JSON.stringify(watch.stop()))).unref()
  setTimeout(() => {}, 60_000)`

test('a time for which the machine did not run the process is a stall', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', WATCHES], {
    cwd: import.meta.dirname,
  })
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  child.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 300))
  child.kill('SIGCONT')
  child.stdin.write('stop\n')
  const [line] = await once(lines, 'line')
  child.kill('SIGKILL')
  const longest = Math.max(...(JSON.parse(String(line)) as Stall[]).map(({ ms }) => ms))
  expect(longest).toBeGreaterThan(250)
})

test('a time for which the process itself computed is none', () => {
  const beganMs = performance.now()
  const watch = watchStalls()
  const before = process.cpuUsage()
  while (process.cpuUsage(before).user < 200_000);
  const stalledMs = watch.stop().reduce((sum, { ms }) => sum + ms, 0)
  const tookMs = performance.now() - beganMs
  expect(stalledMs).toBeLessThanOrEqual(tookMs - 200)
})
