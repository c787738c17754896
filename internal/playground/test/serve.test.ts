// `npm run playground`, after its build.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { html } from './browser.js'

const program = fileURLToPath(new URL('../serve.mjs', import.meta.url))
let child: ChildProcess
let line = ''
let port = 0

async function started(env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const made = spawn(process.execPath, [program], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ;[line] = (await once(createInterface({ input: made.stdout }), 'line')) as [string]
  port = Number(/:(\d+) /.exec(line)?.[1])
  return made
}

beforeAll(async () => {
  child = await started({ PORT: '0' })
})
afterAll(() => {
  child.kill('SIGKILL')
})

interface Answer {
  readonly status: number | undefined
  readonly body: string
  readonly headers: Readonly<Record<string, unknown>>
}

function ask(path: string, method = 'GET', host = '127.0.0.1'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path, method }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part) => parts.push(part))
      response.on('end', () => {
        const { statusCode: status, headers } = response
        resolve({ status, headers, body: Buffer.concat(parts).toString() })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

test('prints the address of the page', async () => {
  expect(line).toMatch(/^playground: http:\/\/127\.0\.0\.1:\d+ /)
  const { status, body, headers } = await ask('/')
  expect({ status, isPage: body === html }).toEqual({ status: 200, isPage: true })
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  })
})

test.each([
  '/../package.json',
  '/package.json',
  '/%2e%2e/package.json',
  '//127.0.0.1/',
  `/${'x'.repeat(8_000)}`,
])('serves nothing else: %s', async (path) => {
  expect((await ask(path)).status).toBe(404)
})
