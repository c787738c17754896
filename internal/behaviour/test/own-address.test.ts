// An application that finds its clients' addresses itself. In a separate file, since a warning is
// given once in a process, and no earlier test may have caused it.

import { memoryStore } from '@weir/core'
import { fakeClock } from '@weir/core/testing'
import { expect, test, vi } from 'vitest'
import { type Ask, serve, statuses } from './client.js'
import { servers } from './servers/table.js'

test.each(servers)('$name: the address is trusted, without a warning', async (kind) => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { url } = await serve(kind, {
    limiters: [{ store: memoryStore({ clock: fakeClock() }), limit: 1, window: '1m' }],
    around: ({ raw, header }, next) => {
      const request = (raw as { request?: object }).request ?? raw
      Object.defineProperty(request, 'ip', { value: header('x-real-ip'), configurable: true })
      return next()
    },
  })
  const asks: Ask[] = ['9.9.9.9', '9.9.9.9', '8.8.8.8'].map((ip) => ({
    headers: { 'x-real-ip': ip },
  }))
  expect(await statuses(url, asks)).toEqual([200, 429, 200])
  expect(warn).not.toHaveBeenCalled()
  warn.mockRestore()
})
