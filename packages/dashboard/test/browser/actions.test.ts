// What can be changed on the page: each change is checked, described, confirmed, and sent in the
// form that the server expects.

import type { Page } from '@weir/testkit/page'
import { describe, expect } from 'vitest'
import type { LiveFrame } from '../../src/protocol.js'
import { foundKey } from './fixture/found.js'
import { busyFrames } from './fixture/frames.js'
import type { Fixture } from './fixture/server.js'
import { open, shown, test } from './opened.js'

async function acting(fixture: Fixture, lives?: readonly string[]): Promise<Page> {
  fixture.lookup = () => foundKey
  const next = busyFrames(true)
  return shown(
    fixture,
    [next(), next()].map((frame) => {
      const [live] = frame.live as [LiveFrame]
      return { ...frame, live: lives?.map((id) => ({ ...live, id })) ?? frame.live }
    }),
  )
}

const sentTo = (fixture: Fixture, path: string): unknown[] =>
  fixture.posted.filter(([to]) => to === path).map(([, body]) => body)

test('a viewer who may not act has no buttons for actions', async ({ fixture }) => {
  fixture.send(busyFrames(false)())
  const { page } = await open(fixture.address)
  await page.locator('.limiter').first().waitFor()
  expect(await page.locator('.act:visible').count()).toBe(0)
  expect(await page.locator('#log').textContent()).toContain('is read-only')
})

interface Case {
  readonly does: string
  readonly button: RegExp
  readonly fill?: Readonly<Record<string, string>>
  readonly says: string
  readonly typed: string
  readonly act: string
  readonly sent: object
}

const POLICY = { algorithm: 'sliding-window', name: 'calls', limit: 3_000, window: '1m' }
const CASES: readonly Case[] = [
  {
    does: 'switches a limiter off',
    button: /^Switch off login/,
    says: 'lets everything pass',
    typed: 'login',
    act: 'Switch off',
    sent: { kind: 'disable', limiter: 'login', confirm: 'login' },
  },
  {
    does: 'changes a live limit',
    button: /^Change pro/,
    fill: { Limit: '3000' },
    says: 'limit from 2,000 to 3,000. What was used before goes on counting.',
    typed: 'pro',
    act: 'Change',
    sent: { kind: 'set', live: 'plans', name: 'pro', policy: POLICY, confirm: 'pro' },
  },
  {
    does: 'overrides the limit of all keys with a prefix',
    button: /^Override a key/,
    fill: { Key: 'org-9:', Limit: '3000', 'All keys that begin like this': 'on' },
    says: 'All keys that begin with org-9: are limited by sliding window: 3,000 per 1m',
    typed: 'plans',
    act: 'Override',
    sent: {
      ...{ kind: 'override', live: 'plans', key: 'org-9:', isPrefix: true },
      ...{ policy: POLICY, confirm: 'plans' },
    },
  },
  {
    does: 'rolls live limits back',
    button: /^Roll back to version 11/,
    says: '1 later change undone',
    typed: 'plans',
    act: 'Roll back',
    sent: { kind: 'rollback', live: 'plans', version: 11, confirm: 'plans' },
  },
]

async function fillIn(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields)) {
    const field = page.locator('dialog').getByLabel(label, { exact: true })
    if (value === 'on') await field.check()
    else await field.fill(value)
  }
}

/** Confirms the dialog, which closes. */
async function confirm(page: Page, act: string, typed?: string): Promise<void> {
  const dialog = page.locator('dialog')
  const doIt = dialog.getByRole('button', { name: act, exact: true })
  if (typed !== undefined) {
    expect(await doIt.isEnabled()).toBe(false)
    await dialog.getByLabel(/^Type/).fill(typed)
  }
  await doIt.click()
  await expect.poll(() => dialog.count()).toBe(0)
}

describe('a dialog', () => {
  test.for(CASES)(
    '$does when its name has been typed',
    async ({ button, fill, says, typed, act, sent }, { fixture }) => {
      const page = await acting(fixture)
      await page.getByRole('button', { name: button }).click()
      await fillIn(page, fill ?? {})
      await expect.poll(() => page.locator('.says').textContent()).toContain(says)
      await confirm(page, act, typed)
      expect(sentTo(fixture, 'actions')).toEqual([sent])
      expect(await page.locator('#said').textContent()).toContain('Done')
    },
  )

  test('for a key: reset by one click, with the handle that was looked up', async ({ fixture }) => {
    const page = await acting(fixture)
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Reset…' }).click()
    await confirm(page, 'Reset')
    const whose = { limiter: 'search', handle: 'search-r0', confirm: 'search' }
    expect(sentTo(fixture, 'actions')).toEqual([{ kind: 'reset', ...whose }])
    // The key is looked up again.
    await expect.poll(() => sentTo(fixture, 'lookup').length).toBe(2)
  })

  test('for a key: an override, by its handle or as typed, in the live policies that are chosen', async ({
    fixture,
  }) => {
    const page = await acting(fixture, ['plans', 'quotas'])
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Override in quotas…' }).click()
    const dialog = page.locator('dialog')
    expect(await dialog.locator('h2').textContent()).toBe('Override crawler-7 in quotas')
    expect(await dialog.getByLabel('Key', { exact: true }).count()).toBe(0)
    await fillIn(page, { Limit: '3000' })
    await expect
      .poll(() => dialog.locator('.says').textContent())
      .toContain('crawler-7 is limited by sliding window: 3,000 per 1m')
    await confirm(page, 'Override', 'quotas')

    await page.getByLabel('Key', { exact: true }).fill('crawler-7')
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByRole('button', { name: 'Override in plans…' }).click()
    await fillIn(page, { Limit: '3000' })
    await confirm(page, 'Override', 'plans')
    const of = { kind: 'override', isPrefix: false, policy: POLICY }
    expect(sentTo(fixture, 'actions')).toEqual([
      { ...of, live: 'quotas', limiter: 'search', handle: 'search-r0', confirm: 'quotas' },
      { ...of, live: 'plans', key: 'crawler-7', confirm: 'plans' },
    ])
  })

  test('for an override is not offered where there are no live policies', async ({ fixture }) => {
    const page = await acting(fixture, [])
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Reset…' }).waitFor()
    expect(await page.getByRole('button', { name: /^Override/ }).count()).toBe(0)
    await page.getByText('No live policies are watched').waitFor()
  })

  test('for a key under a lock-out: block for a time, and unblock', async ({ fixture }) => {
    const [first] = foundKey.policies
    const guesses = { ...first, policy: 'guesses', block: { level: 1, blocked: true } } as const
    const page = await acting(fixture)
    fixture.lookup = () => ({ ...foundKey, limiter: 'login', policies: [guesses as never] })
    await page.getByLabel('Key', { exact: true }).fill('ada')
    await page.getByLabel('Limiter', { exact: true }).selectOption('login')
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByRole('button', { name: 'Block…', exact: true }).click()
    await fillIn(page, { 'For how long': '15m' })
    await confirm(page, 'Block')
    await page.getByRole('button', { name: 'Unblock…' }).click()
    await confirm(page, 'Unblock')
    const of = { limiter: 'login', key: 'ada', confirm: 'login' }
    expect(sentTo(fixture, 'actions')).toEqual([
      { ...of, kind: 'block', duration: '15m' },
      { ...of, kind: 'unblock' },
    ])
  })

  test('says that a new counter begins, and shows nothing as planned that is wrong', async ({
    fixture,
  }) => {
    const page = await acting(fixture)
    await page.getByRole('button', { name: /^Change pro/ }).click()
    const dialog = page.locator('dialog')
    const [says, alert] = [dialog.locator('.says'), dialog.locator('[role="alert"]')]
    const act = dialog.getByRole('button', { name: 'Change' })
    await dialog.getByLabel(/^Type/).fill('pro')
    expect([await says.textContent(), await act.isEnabled()]).toEqual([
      'Nothing differs yet.',
      false,
    ])

    fixture.preview = () => ({ isNewCounter: true })
    await fillIn(page, { Window: '1h' })
    await expect.poll(() => says.textContent()).toContain('A new counter begins')
    expect(await act.isEnabled()).toBe(true)

    const unknown = 'slidingWindow() was given "limt"; there are limit, name, window'
    fixture.preview = () => ({ code: 'WEIR_INVALID_POLICY', message: unknown })
    for (const [fields, why] of [
      [{ Limit: 'x' }, 'limit is “x”; give a number from 0, such as 100.'],
      [{ Limit: '5', 'Other options, as JSON': '{"limt":' }, 'The other options are not JSON.'],
      [{ 'Other options, as JSON': '{"limt":5}' }, unknown],
    ] as const) {
      await fillIn(page, fields)
      await expect.poll(() => alert.textContent()).toBe(why)
      expect([await says.textContent(), await act.isEnabled()]).toEqual(['', false])
    }
  })

  test('stays open and shows the reason if the server refuses', async ({ fixture }) => {
    fixture.act = ({ kind }) => ({
      note: { atMs: 0, who: 'ada', what: kind, outcome: 'refused', why: 'limit' },
      problem: { code: 'WEIR_INVALID_POLICY', message: 'limit must be 0 or more' },
    })
    const page = await acting(fixture)
    await page.getByRole('button', { name: /^Unset pro/ }).click()
    await page.locator('dialog').getByLabel(/^Type/).fill('pro')
    await page.locator('dialog').getByRole('button', { name: 'Unset', exact: true }).click()
    const problem = page.locator('dialog [role="alert"]')
    await expect
      .poll(() => problem.textContent())
      .toBe('WEIR_INVALID_POLICY: limit must be 0 or more')
  })
})
