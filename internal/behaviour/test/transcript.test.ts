// Every framework answers the same requests with the same bytes.

import { fixedWindow, memoryStore, tokenBucket } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Ask, ask, serve } from './client.js'
import type { ServerKind, Settings } from './servers/kind.js'
import { servers } from './servers/table.js'

/** A request, after this many ms. */
interface Step extends Ask {
  readonly path: string
  readonly afterMs?: number
}

const by = (user: string, more: Record<string, string> = {}) => ({
  headers: { 'x-user': user, ...more },
})

const script: readonly Step[] = [
  { path: '/', ...by('ann') },
  { path: '/', method: 'HEAD', ...by('ann') },
  { path: '/', method: 'OPTIONS', ...by('ann') },
  { path: '/', ...by('bob', { origin: 'https://page.example' }) },
  {
    path: '/',
    method: 'OPTIONS',
    ...by('bob', { origin: 'https://page.example', 'access-control-request-method': 'PUT' }),
  },
  { path: '/health' },
  { path: '/nobody' },
  { path: '/?pages=4', ...by('ann') },
  { path: '/?pages=4', ...by('ann'), afterMs: 1_500 },
  { path: '/?pages=9', ...by('bob') },
  { path: '/?pages=-1', ...by('bob') },
  { path: '/?pages=x', ...by('bob') },
  { path: '/', method: 'POST', ...by('bob') },
  { path: '/', method: 'HEAD', ...by('bob'), afterMs: 300 },
  { path: '/', ...by('bob'), afterMs: 86_400_000 },
  { path: '/', ...by('ann', { 'x-forwarded-for': '9.9.9.9' }) },
]

const settings: readonly Omit<Settings, 'store'>[] = [
  {
    name: 'all',
    limit: 50,
    window: '1h',
    headers: ['draft-8', 'draft-6', 'legacy-delta'],
    skip: ({ url }) => url === '/health',
  },
  {
    name: 'user',
    policy: [
      tokenBucket({ name: 'burst', capacity: 5, refill: 2, every: '1s' }),
      fixedWindow({ name: 'daily', limit: 20, window: '1d' }),
    ],
    key: ({ header }) => header('x-user'),
    onMissingKey: 'deny',
    cost: ({ url }) => Number(new URL(url, 'http://host').searchParams.get('pages') ?? 1),
    headers: ['draft-8', 'draft-6', 'legacy-delta'],
  },
] as readonly Settings[]

/** Headers of the connection. */
const NOT_OURS = ['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']

// The last request has a forged header, which causes a warning once in a process.
beforeEach(() => {
  vi.spyOn(process, 'emitWarning').mockImplementation((warning, options) => {
    const { code } = options as { code?: string }
    if (code !== 'WEIR_FORWARDED_IGNORED') throw new Error(`${code}: ${warning}`)
  })
})
afterEach(() => void vi.restoreAllMocks())

async function play(kind: ServerKind): Promise<string> {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const { url } = await serve(kind, {
    limiters: settings.map((one) => ({ ...one, store }) as Settings),
  })
  const transcript: string[] = []
  for (const { path, afterMs = 0, ...one } of script) {
    clock.advance(afterMs)
    const { status, headers, body } = await ask(url + path, one)
    const told = Object.entries(headers).filter(([name]) => !NOT_OURS.includes(name))
    const lines = told.map(([name, value]) => `${name}: ${value}`).sort()
    transcript.push([`> ${one.method ?? 'GET'} ${path}`, `< ${status}`, ...lines, body].join('\n'))
  }
  return transcript.join('\n\n')
}

const [first, ...others] = servers as readonly [ServerKind, ...ServerKind[]]

test('the transcript is complete', async () => {
  await expect(await play(first)).toMatchFileSnapshot('transcript.txt')
})

test.each(others)(`the transcript of $name is that of ${first.name}`, async (kind) => {
  expect(await play(kind)).toBe(await play(first))
})
