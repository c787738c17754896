import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { expect, test } from 'vitest'
import { freePort } from '../src/index.js'

/** Whether another process could take the UDP port, by which ports are reserved. */
function isFreeElsewhere(port: number): boolean {
  const bound = `() => process.exit(7)`
  const script = `require('node:dgram').createSocket('udp4').bind(${port}, '127.0.0.1', ${bound})`
  return spawnSync(process.execPath, ['-e', script]).status === 7
}

test('a port is given out once, and to no other process while this one runs', async () => {
  const own = createSocket('udp4')
  await new Promise<void>((resolve) => own.bind(0, '127.0.0.1', resolve))
  const { port } = own.address()
  await new Promise<void>((resolve) => own.close(resolve))
  expect(isFreeElsewhere(port)).toBe(true)

  const ports = await Promise.all(Array.from({ length: 200 }, freePort))
  expect(new Set(ports).size).toBe(ports.length)
  expect(isFreeElsewhere(ports[0] as number)).toBe(false)
})
