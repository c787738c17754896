import { execFileSync, spawn } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import {
  type RedisServer,
  startCluster,
  startRedis,
  startSentinel,
  waitUntil,
} from '../src/index.js'

test('a single server answers, reports errors, and is gone after stop', async () => {
  const server = await startRedis()
  expect(await server.command('SET', 'greeting', 'grüß dich')).toBe('OK')
  expect(await server.command('GET', 'greeting')).toBe('grüß dich')
  expect(await server.command('EVAL', 'return {1, false, {"a"}}', 0)).toEqual([1, null, ['a']])
  await expect(server.command('NOSUCH')).rejects.toThrow('unknown command')
  await server.stop()
  await expect(server.command('PING')).rejects.toThrow()
  expect(isAlive(server.pid)).toBe(false)
})

test('after a server is killed, another one can start on its port', async () => {
  const first = await startRedis()
  first.kill()
  await first.stop()
  const second = await startRedis({ port: first.port })
  onTestFinished(() => second.stop())
  expect(await second.command('PING')).toBe('PONG')
})

test('a stopped process hangs, and continues after SIGCONT', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  server.kill('SIGSTOP')
  let answered = false
  const pong = server.command('PING').then(() => {
    answered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(answered).toBe(false)
  server.kill('SIGCONT')
  await pong
})

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

test('a server that cannot start says why', async () => {
  await expect(startRedis({ args: ['--nonsense', 'yes'] })).rejects.toThrow('nonsense')
})

test('a Cluster of 3 masters and 3 replicas serves every slot', async () => {
  const cluster = await startCluster()
  onTestFinished(() => cluster.stop())
  for (const node of cluster.nodes) {
    const slots = (await node.command('CLUSTER', 'SLOTS')) as [
      number,
      number,
      [string, number],
      unknown,
    ][]
    const served = slots.reduce((sum, [first, last]) => sum + last - first + 1, 0)
    expect(served).toBe(16_384)
    expect(slots.map(([, , [, port]]) => port).sort()).toEqual(
      cluster.masters.map((m) => m.port).sort(),
    )
    expect(slots.every((shard) => shard.length === 4)).toBe(true)
  }
  for (const master of cluster.masters) expect(await writesOwnSlot(master)).toBe('OK')
})

test('a Cluster replaces a killed master', async () => {
  const cluster = await startCluster({ nodeTimeoutMs: 1_000 })
  onTestFinished(() => cluster.stop())
  const [replica] = cluster.replicas
  cluster.masters[0]?.kill()
  await waitUntil('the replica to be the master', async () => (await role(replica)) === 'master')
  await waitUntil(
    'its slots to be served',
    async () => replica !== undefined && (await writesOwnSlot(replica)) === 'OK',
  )
})

test('Sentinels agree on a new master when the old one is killed', async () => {
  const sentinel = await startSentinel()
  onTestFinished(() => sentinel.stop())
  const [master, replica] = sentinel.servers
  expect(await sentinel.masterPort()).toBe(master?.port)
  master?.kill()
  await waitUntil('a new master', async () => (await sentinel.masterPort()) === replica?.port)
  await waitUntil(
    'it to take writes',
    async () => (await replica?.command('SET', 'k', 'v')) === 'OK',
  )
})

async function role(server: RedisServer | undefined): Promise<unknown> {
  return ((await server?.command('ROLE')) as unknown[] | undefined)?.[0]
}

/** Writes to a key in a slot that the node serves. */
async function writesOwnSlot(node: RedisServer): Promise<unknown> {
  for (let i = 0; ; i++) {
    const reply = await node
      .command('SET', `key-${i}`, 'value')
      .catch((error: Error) => error.message)
    if (!String(reply).startsWith('MOVED')) return reply
  }
}

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
