import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres, waitUntil } from '../src/index.js'

async function ask(url: string, text: string): Promise<unknown> {
  const client = new Client({ connectionString: url })
  // Killing the server ends the connection.
  client.on('error', () => {})
  await client.connect()
  try {
    return Object.values((await client.query(text)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

test('a killed PostgreSQL comes back with all that was committed, and is gone after stop', async () => {
  const server = await startPostgres({ settings: ['application_name=kit'] })
  onTestFinished(() => server.stop())
  const { url } = server
  expect(await ask(url, 'SHOW application_name')).toBe('kit')
  await ask(url, 'CREATE TABLE kept AS SELECT 7 AS n')
  const open = new Client({ connectionString: url })
  open.on('error', () => {})
  await open.connect()
  await open.query('BEGIN; INSERT INTO kept VALUES (8)')
  const [folder] = String(await ask(url, 'SHOW data_directory')).split('/data')
  await server.kill()
  await expect(ask(url, 'SELECT 1')).rejects.toThrow()
  await server.restart()
  expect(await ask(url, 'SELECT sum(n)::int FROM kept')).toBe(7)
  await open.end()
  await server.stop()
  await expect(ask(url, 'SELECT 1')).rejects.toThrow()
  expect(existsSync(String(folder))).toBe(false)
})

test('a PostgreSQL that cannot start says why', async () => {
  await expect(startPostgres({ settings: ['nonsense=1'] })).rejects.toThrow('nonsense')
})

test('a PostgreSQL and its data go with the process that started it, even when that is killed', async () => {
  const script = `import { startPostgres } from '@weir/testkit'; console.log((await startPostgres()).url)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
  })
  const url = await new Promise<string>((resolve) =>
    child.stdout.once('data', (data) => resolve(String(data).trim())),
  )
  const [folder] = String(await ask(url, 'SHOW data_directory')).split('/data')
  child.kill('SIGKILL')
  await waitUntil('its data to be gone', async () => !existsSync(String(folder)))
  await waitUntil('its processes to be gone', async () => {
    const all = execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    return !all.includes(String(folder))
  })
})
