// Starts the example as a user does, sends requests to the address that it prints, and presses
// Ctrl-C.
import { join } from 'node:path'
import { startExample } from '@weir/behaviour/example'
import { expect, onTestFinished, test } from 'vitest'

test('the example serves, limits, and ends on Ctrl-C', async () => {
  const { url, stop, kill } = await startExample(
    join(import.meta.dirname, '..'),
    {},
    'dist/main.js',
  )
  onTestFinished(kill)
  const ask = async (path, init = {}) => {
    const response = await fetch(url + path, {
      ...init,
      headers: { connection: 'close', ...init.headers },
    })
    return { status: response.status, body: await response.text(), headers: response.headers }
  }

  const first = await ask('/reports')
  expect([first.status, first.body]).toEqual([200, '{"reports":[],"left":2}'])
  expect(first.headers.get('RateLimit')).toMatch(/^"reports";r=2;t=/)
  expect((await ask('/reports/health')).headers.get('RateLimit')).toBeNull()

  const create = (user) => ask('/reports', { method: 'POST', headers: { 'x-user': user } })
  const statuses = []
  for (const user of ['ann', 'ann', 'ann', 'bob']) statuses.push((await create(user)).status)
  expect(statuses).toEqual([201, 201, 429, 201])

  const login = (password) =>
    ask('/login', { method: 'POST', body: new URLSearchParams({ account: 'ann', password }) })
  const answers = []
  for (let i = 0; i < 6; i += 1) answers.push((await login('guess')).body)
  expect(answers.slice(0, 5)).toEqual(Array(5).fill('wrong'))
  expect(answers[5]).toMatch(/^try again in \d+ s$/)

  expect(await stop()).toBe(0)
})
