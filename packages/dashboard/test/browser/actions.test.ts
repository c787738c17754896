// What can be changed on the page: each change is described, confirmed, and sent in the form that
// the server expects.

import type { Page } from '@weir/testkit/page'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LiveFrame } from '../../src/protocol.js'
import { foundKey } from './fixture/found.js'
import { busyFrames } from './fixture/frames.js'
import { type Fixture, startFixture } from './fixture/server.js'
import { open } from './opened.js'

let fixture: Fixture
beforeEach(async () => {
  fixture = await startFixture(100)
})
afterEach(() => fixture.close())

async function acting(lives?: readonly string[]): Promise<Page> {
  const next = busyFrames(true)
  for (const frame of [next(), next()]) {
    const [live] = frame.live as [LiveFrame]
    fixture.send({ ...frame, live: lives?.map((id) => ({ ...live, id })) ?? frame.live })
  }
  const { page } = await open(fixture.address)
  await page.locator('.card').first().waitFor()
  return page
}

const actions = (): unknown[] =>
  fixture.posted.filter(([path]) => path === 'actions').map(([, body]) => body)

test('a viewer who may not act has no buttons for actions', async () => {
  fixture.send(busyFrames(false)())
  const { page } = await open(fixture.address)
  await page.locator('.card').first().waitFor()
  expect(await page.locator('.act:visible').count()).toBe(0)
  expect(await page.locator('#log').textContent()).toContain('is read-only')
})

interface Case {
  readonly does: string
  readonly button: RegExp
  readonly fill?: Readonly<Record<string, string>>
  readonly says: string
  readonly typed?: string
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
    fill: { 'Policy, as JSON': JSON.stringify(POLICY) },
    says: 'limit from 2,000 to 3,000',
    typed: 'pro',
    act: 'Change',
    sent: { kind: 'set', live: 'plans', name: 'pro', policy: POLICY, confirm: 'pro' },
  },
  {
    does: 'unsets a live limit',
    button: /^Unset pro/,
    says: 'sliding window: 1,000 per 1m',
    typed: 'pro',
    act: 'Unset',
    sent: { kind: 'unset', live: 'plans', name: 'pro', confirm: 'pro' },
  },
  {
    does: 'overrides the limit of all keys with a prefix',
    button: /^Override a key/,
    fill: {
      Key: 'org-9:',
      'Policy, as JSON': JSON.stringify(POLICY),
      'All keys that begin like this': 'on',
    },
    says: 'All keys that begin with org-9: are limited by sliding window: 3,000 per 1m',
    typed: 'plans',
    act: 'Override',
    sent: {
      kind: 'override',
      live: 'plans',
      key: 'org-9:',
      isPrefix: true,
      policy: POLICY,
      confirm: 'plans',
    },
  },
  {
    does: 'removes an override',
    button: /^Remove the override of tenant-acme/,
    says: 'tenant-acme is limited like all other keys',
    typed: 'plans',
    act: 'Remove',
    sent: { kind: 'remove', live: 'plans', handle: 'o1', confirm: 'plans' },
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

describe('a dialog', () => {
  test.each(CASES)(
    '$does when its name has been typed',
    async ({ button, fill, says, typed, act, sent }) => {
      const page = await acting()
      await page.evaluate(
        `for (const each of document.querySelectorAll('details')) each.open = true`,
      )
      await page.getByRole('button', { name: button }).click()
      const dialog = page.locator('dialog')
      await fillIn(page, fill ?? {})
      await expect.poll(() => dialog.locator('.says').textContent()).toContain(says)
      const doIt = dialog.getByRole('button', { name: act, exact: true })
      expect(await doIt.isEnabled()).toBe(false)
      await dialog.getByLabel(/^Type/).fill(typed ?? '')
      await doIt.click()
      await expect.poll(() => dialog.count()).toBe(0)
      expect(actions()).toEqual([sent])
      expect(await page.locator('#said').textContent()).toContain('Done')
    },
  )

  test('for a key: reset by one click, with the handle that was looked up', async () => {
    fixture.lookup = () => foundKey
    const page = await acting()
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Reset…' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Reset', exact: true }).click()
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    expect(actions()).toEqual([
      { kind: 'reset', limiter: 'search', handle: 'search-r0', confirm: 'search' },
    ])
    // The key is looked up again.
    await expect.poll(() => fixture.posted.filter(([path]) => path === 'lookup').length).toBe(2)
  })

  test('for a key of a list: an override, in the live policies that are chosen', async () => {
    fixture.lookup = () => foundKey
    const page = await acting(['plans', 'quotas'])
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Override in quotas…' }).click()
    const dialog = page.locator('dialog')
    expect(await dialog.locator('h2').textContent()).toBe('Override crawler-7 in quotas')
    expect(await dialog.getByLabel('Key', { exact: true }).count()).toBe(0)
    await fillIn(page, { 'Policy, as JSON': JSON.stringify(POLICY) })
    await expect
      .poll(() => dialog.locator('.says').textContent())
      .toContain('crawler-7 is limited by sliding window: 3,000 per 1m')
    await dialog.getByLabel(/^Type/).fill('quotas')
    await dialog.getByRole('button', { name: 'Override', exact: true }).click()
    await expect.poll(() => dialog.count()).toBe(0)
    const of = { kind: 'override', live: 'quotas', isPrefix: false, policy: POLICY }
    const whose = { limiter: 'search', handle: 'search-r0' }
    expect(actions()).toEqual([{ ...of, ...whose, confirm: 'quotas' }])
  })

  test('for a typed key: an override of it, or of all that begin like it', async () => {
    fixture.lookup = () => foundKey
    const page = await acting()
    await page.getByLabel('Key', { exact: true }).fill('crawler-7')
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByRole('button', { name: 'Override…', exact: true }).click()
    const dialog = page.locator('dialog')
    await fillIn(page, { 'Policy, as JSON': JSON.stringify(POLICY) })
    await dialog.getByLabel(/^Type/).fill('plans')
    await dialog.getByRole('button', { name: 'Override', exact: true }).click()
    await expect.poll(() => dialog.count()).toBe(0)
    const of = { kind: 'override', live: 'plans', isPrefix: false, policy: POLICY }
    expect(actions()).toEqual([{ ...of, key: 'crawler-7', confirm: 'plans' }])
  })

  test('for an override is not offered where there are no live policies', async () => {
    fixture.lookup = () => foundKey
    const page = await acting([])
    await page.locator('.key-row').first().click()
    await page.getByRole('button', { name: 'Reset…' }).waitFor()
    expect(await page.getByRole('button', { name: /^Override/ }).count()).toBe(0)
    await page.getByText('No live policies are watched').waitFor()
  })

  test('for a key under a lock-out: block for a time, and unblock', async () => {
    const [first] = foundKey.policies
    const guesses = { ...first, policy: 'guesses', block: { level: 1, blocked: true } } as const
    fixture.lookup = () => ({ ...foundKey, limiter: 'login', policies: [guesses as never] })
    const page = await acting()
    await page.getByLabel('Key', { exact: true }).fill('ada')
    await page.getByLabel('Limiter', { exact: true }).selectOption('login')
    await page.getByRole('button', { name: 'Look up' }).click()
    await page.getByRole('button', { name: 'Block…', exact: true }).click()
    await fillIn(page, { 'For how long': '15m' })
    await page.locator('dialog').getByRole('button', { name: 'Block', exact: true }).click()
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    await page.getByRole('button', { name: 'Unblock…' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Unblock', exact: true }).click()
    await expect.poll(() => actions().length).toBe(2)
    expect(actions()).toEqual([
      { kind: 'block', limiter: 'login', key: 'ada', duration: '15m', confirm: 'login' },
      { kind: 'unblock', limiter: 'login', key: 'ada', confirm: 'login' },
    ])
  })

  test('stays open and shows the reason if the server refuses', async () => {
    fixture.act = ({ kind }) => ({
      note: { atMs: 0, who: 'ada', what: kind, outcome: 'refused', why: 'limit' },
      problem: { code: 'WEIR_INVALID_POLICY', message: 'limit must be 0 or more' },
    })
    const page = await acting()
    await page.getByRole('button', { name: /^Unset pro/ }).click()
    await page.locator('dialog').getByLabel(/^Type/).fill('pro')
    await page.locator('dialog').getByRole('button', { name: 'Unset', exact: true }).click()
    const problem = page.locator('dialog [role="alert"]')
    await expect
      .poll(() => problem.textContent())
      .toBe('WEIR_INVALID_POLICY: limit must be 0 or more')
  })

  test('for a policy that is not JSON cannot be confirmed', async () => {
    const page = await acting()
    await page.getByRole('button', { name: /^Change pro/ }).click()
    await page.locator('dialog').getByLabel(/^Type/).fill('pro')
    await fillIn(page, { 'Policy, as JSON': '{"limit":' })
    const alert = page.locator('dialog [role="alert"]')
    await expect.poll(() => alert.textContent()).toBe('The policy is not JSON.')
    expect(await page.locator('dialog').getByRole('button', { name: 'Change' }).isEnabled()).toBe(
      false,
    )
  })
})
