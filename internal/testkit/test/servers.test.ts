// What servers do while all is well, and when they are killed, is seen by every test that uses
// them. That none is left over is seen by nobody.

import { execFileSync, spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import { waitUntil } from '../src/index.js'

test('a server dies with the process that started it, even when that is killed', async () => {
  const script = `import { startRedis } from '@weir/testkit'; console.log((await startRedis()).pid)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
  })
  const pid = await new Promise<number>((resolve) =>
    child.stdout.once('data', (data) => resolve(Number(data))),
  )
  expect(isAlive(pid)).toBe(true)
  child.kill('SIGKILL')
  await waitUntil('the server to be gone', async () => !isAlive(pid))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A zombie process still has a pid; only its state shows that it has ended.
    return !execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).startsWith(
      'Z',
    )
  } catch {
    return false
  }
}
