// What the examples print of the address of Redis that they are given.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const examples = join(import.meta.dirname, '../../../examples')

test.each([
  'express/src/server.js',
  'llm-gateway/src/server.js',
  'login/src/server.js',
  'outgoing-calls/src/worker.js',
])('%s shows nothing of a mistyped address when it cannot connect', async (path) => {
  // ioredis takes it for the path of a socket, which its error shows.
  const env = { ...process.env, PORT: '0', REDIS_URL: 'valkey://bob:hunter2@127.0.0.1:1' }
  const child = spawn(process.execPath, [join(examples, path)], { env })
  const [line] = (await once(child.stderr, 'data')) as [Buffer]
  const exit = once(child, 'exit')
  child.kill()
  await exit
  expect(String(line)).toMatch(/redis.*ENOENT/i)
  expect(String(line)).not.toMatch(/bob|hunter2|127/)
})
