// Who may see the page.

import { fixedWindow, RateLimiter } from '@weir/core'
import { describe, expect, test } from 'vitest'
import { type DashboardOptions, dashboard } from '../src/index.js'
import type { ActionNote } from '../src/protocol.js'

const limiter = new RateLimiter({
  name: 'access',
  policy: fixedWindow({ limit: 9, window: '1h' }),
})

function made(options: Partial<DashboardOptions> = {}) {
  const lines: string[] = []
  const log = (line: string): void => void lines.push(line)
  const all = { limiters: [limiter], log, path: '/weir', ...options }
  return { lines, ...dashboard(all) }
}

const URL_OF_PAGE = 'http://localhost:3000/weir/'
const POSTED = { origin: 'http://localhost:3000', 'content-type': 'application/json' }

function posted(path: string, value: unknown, headers = {}): Request {
  const body = JSON.stringify(value)
  return new Request(URL_OF_PAGE + path, {
    method: 'POST',
    headers: { ...POSTED, ...headers },
    body,
  })
}

test('without authorize, one line with the token is printed', () => {
  const { lines, address } = made()
  expect(lines).toHaveLength(1)
  const token = /\?token=([\w-]{32})$/.exec(lines[0] ?? '')?.[1]
  expect(address('http://localhost:3000/weir/')).toBe(`${URL_OF_PAGE}?token=${token}`)
})

test('with authorize, nothing is printed, and the address has no token', () => {
  const { lines, address } = made({ authorize: () => true })
  expect(lines).toEqual([])
  expect(address('http://localhost:3000/weir')).toBe(URL_OF_PAGE)
})

test.each([
  [true, 200],
  [{ name: 'ada' }, 200],
  [Promise.resolve({ name: 'ada' }), 200],
  [false, 403],
  [undefined, 403],
  [{}, 403],
  [{ name: '' }, 403],
  ['ada', 403],
  [1, 403],
])('if authorize returns %o, the page gets %i', async (answer, status) => {
  const { fetch } = made({ authorize: () => answer as boolean })
  expect((await fetch(new Request(URL_OF_PAGE))).status).toBe(status)
})

test('if authorize fails, nobody is let in, and it is logged once, without its message', async () => {
  const { fetch, lines } = made({
    authorize() {
      throw new Error('the secret is \u001b[31mhunter2')
    },
  })
  for (let i = 0; i < 3; i += 1) {
    const answer = await fetch(new Request(`${URL_OF_PAGE}events`))
    expect(answer.status).toBe(500)
    expect(await answer.text()).not.toContain('hunter2')
  }
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toContain('\u001b')
})

test('a cookie that was set over TLS is sent over TLS only', async () => {
  const { fetch, address } = made()
  const cookieOf = async (url: string, headers = {}): Promise<string> => {
    return String((await fetch(new Request(url, { headers }))).headers.get('set-cookie'))
  }
  const plain = address('http://localhost:3000/weir')
  expect(await cookieOf(plain)).not.toContain('Secure')
  expect(await cookieOf(plain, { 'x-forwarded-proto': 'https' })).toMatch(/; Secure$/)
  expect(await cookieOf(plain.replace('http:', 'https:'))).toMatch(/; Secure$/)
})

test('a link on another site sets the cookie by a page, since browsers do not send it after a redirect', async () => {
  const { fetch, address } = made()
  const headers = { 'sec-fetch-site': 'cross-site' }
  const answer = await fetch(new Request(address('http://localhost:3000/weir'), { headers }))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('refresh')).toBe('0; url=./')
  expect(answer.headers.get('set-cookie')).toContain('SameSite=Strict')
})

describe('actions', () => {
  const disable = { kind: 'disable', limiter: 'access', confirm: 'access' }

  test('are refused unless they are switched on', async () => {
    const { fetch } = made({ authorize: () => ({ name: 'ada' }) })
    const answer = await fetch(posted('actions', disable))
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'actions-off' }])
    expect(limiter.enabled).toBe(true)
  })

  test('are recorded under the name that authorize returns, without terminal control characters', async () => {
    const notes: ActionNote[] = []
    const name = `ada\u001b[31m\n${'x'.repeat(200)}`
    const onAction = (note: ActionNote): void => void notes.push(note)
    const { fetch } = made({ authorize: () => ({ name }), actions: true, onAction })
    const enable = { ...disable, kind: 'enable' }
    expect((await fetch(posted('actions', enable))).status).toBe(200)
    expect(notes).toHaveLength(1)
    expect(notes[0]?.who).toBe(`ada [31m ${'x'.repeat(91)}`)
  })
})

test.each([
  ['an unknown option', { tokens: true }],
  ['a path without a slash', { path: 'weir' }],
  ['a path with a query', { path: '/weir?x' }],
  ['actions that are no boolean', { actions: 'yes' }],
  ['limiters that are none', { limiters: [1] }],
  ['no limiters', { limiters: undefined }],
])('%s is refused', (_, options) => {
  const code = 'WEIR_INVALID_OPTION'
  expect(() => made(options as never)).toThrowError(expect.objectContaining({ code }))
})
