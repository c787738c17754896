// Who may see the page.

import { fixedWindow, RateLimiter } from '@weir/core'
import { describe, expect, test } from 'vitest'
import { dashboardIn } from '../src/dashboard.js'
import { type DashboardOptions, dashboard } from '../src/index.js'
import type { ActionNote } from '../src/protocol.js'
import { fakeTime } from './fake-time.js'

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

test('if authorize does not answer within 5 s, nobody is let in, and it is logged once', async () => {
  const time = fakeTime()
  let answer = (_: boolean): void => {}
  const lines: string[] = []
  const { fetch } = dashboardIn(time, {
    ...{ limiters: [limiter], path: '/weir', log: (line: string) => void lines.push(line) },
    authorize: () => new Promise<boolean>((resolve) => (answer = resolve)),
  })
  for (let i = 0; i < 2; i += 1) {
    const asked = fetch(new Request(`${URL_OF_PAGE}events`))
    time.pass(5_000)
    const late = await asked
    answer(true)
    expect([late.status, await late.json()]).toMatchObject([503, { code: 'authorize-late' }])
  }
  expect(lines).toEqual([expect.stringContaining('authorize has not answered for 5 s')])
  const asked = fetch(new Request(URL_OF_PAGE))
  time.pass(4_999)
  answer(true)
  expect([(await asked).status, time.timers]).toEqual([200, 0])
})

test('with another token, the one before and its cookie let nobody in, and viewers have to return', async () => {
  const { fetch, address, newToken, lines } = made()
  const enter = async (url: string): Promise<string> => {
    const { headers } = await fetch(new Request(url))
    return headers.get('set-cookie')?.split(';')[0] ?? 'none'
  }
  const look = (cookie: string): Promise<Response> => {
    return fetch(new Request(`${URL_OF_PAGE}events`, { headers: { cookie } }))
  }
  const before = address('http://localhost:3000/weir')
  const cookie = await enter(before)
  const { body } = await look(cookie)
  newToken()
  // The stream that was open has ended.
  expect((await new Response(body).text()).match(/^event: frame$/gm)).toHaveLength(1)
  const [old, again] = [await look(cookie), await enter(before)]
  expect([old.status, again]).toEqual([401, 'none'])
  const after = address('http://localhost:3000/weir')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(new URL(after).search)
  const stream = await look(await enter(after))
  expect(stream.status).toBe(200)
  await stream.body?.cancel()
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

  test.each([
    [undefined, 200],
    [true, 200],
    [false, 403],
    [null, 403],
    ['yes', 403],
  ])(
    'of somebody of whom authorize returns mayAct: %o get %i, and so does a preview',
    async (mayAct, status) => {
      const authorize = () => ({ name: 'ada', mayAct: mayAct as boolean })
      const { fetch } = made({ authorize, actions: true })
      const enable = { ...disable, kind: 'enable' }
      const answer = await fetch(posted('actions', enable))
      expect(answer.status).toBe(status)
      // There is nothing to preview.
      expect((await fetch(posted('preview', enable))).status).toBe(status === 200 ? 400 : 403)
      const stream = await fetch(new Request(`${URL_OF_PAGE}events`))
      const { value } = (await stream.body?.getReader().read()) ?? {}
      expect(new TextDecoder().decode(value)).toContain(`"name":"ada","mayAct":${status === 200}`)
    },
  )

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
