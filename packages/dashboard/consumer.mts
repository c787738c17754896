// The dashboard, for Node servers and for Fetch servers.
import type { IncomingMessage } from 'node:http'
import { fixedWindow, memoryStore, RateLimiter } from '@weir/core'
import { livePolicies } from '@weir/core/live'
import { type ActionNote, type Dashboard, dashboard } from '@weir/dashboard'
import { rateLimit } from '@weir/express'
import express from 'express'

const policy = fixedWindow({ name: 'plan', limit: 2, window: '1m' })
const store = memoryStore()
const live = livePolicies(store, { name: 'plans', defaults: { plan: policy } })
const limiters = [new RateLimiter({ store, policy }), rateLimit({ limit: 1, window: '1m' }), live]

interface WithUser extends IncomingMessage {
  readonly user?: { readonly name: string }
}

export const page: Dashboard = dashboard({
  limiters: () => limiters,
  authorize: (request: WithUser) => request.user ?? false,
  actions: true,
  onAction: (note: ActionNote) => console.log(note.what),
})
export const app = express().use('/weir', page.handler)
export const answer: Promise<Response> = page.fetch(new Request('http://localhost/weir/'))

// @ts-expect-error an unknown option
dashboard({ limiters, token: 'x' })
// @ts-expect-error not a limiter
dashboard({ limiters: ['x'] })
