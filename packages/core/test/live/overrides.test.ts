// Overrides are found as by a search through all of them.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { slidingWindow } from '../../src/index.js'
import { fieldOf, textOfField } from '../../src/live/fields.js'
import { Overrides } from '../../src/live/overrides.js'

const policy = (limit: number) => slidingWindow({ name: 'api', limit, window: '1m' })
const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '\uffff', '\ud800'), maxLength: 6 })
const entry = fc.record({ kind: fc.constantFrom('key' as const, 'prefix' as const), key: text })

test('an override of the key takes precedence over prefixes, and the longest prefix over the others', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 40 }),
      fc.array(text, { maxLength: 10 }),
      (all, keys) => {
        const overrides = new Overrides()
        const known = new Map<string, number>()
        all.forEach(({ kind, key }, i) => {
          // Every third one is removed again.
          const isGone = i % 3 === 2
          overrides.set(kind, key, isGone ? undefined : policy(i))
          if (isGone) known.delete(`${kind} ${key}`)
          else known.set(`${kind} ${key}`, i)
          if (i % 5 === 0) overrides.of(key)
        })
        expect(overrides.size).toBe(known.size)
        for (const key of [
          ...keys,
          ...all.map((each) => `${each.key}a`),
          ...all.map((each) => each.key),
        ]) {
          const lengths = Array.from({ length: key.length + 1 }, (_, i) => key.length - i)
          const prefix = lengths
            .map((length) => key.slice(0, length))
            .find((each) => known.has(`prefix ${each}`))
          const expected = known.get(`key ${key}`) ?? known.get(`prefix ${prefix}`)
          expect(overrides.of(key)?.limit).toBe(expected)
        }
      },
    ),
  )
})

test('a field contains its name and key, whatever the key contains, on one line', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('key' as const, 'prefix' as const),
      (key, kind) => {
        const field = textOfField({ kind, name: 'api.v1-x_y', key })
        expect(field).not.toMatch(/[\r\n]/)
        expect(fieldOf(field)).toEqual({ kind, name: 'api.v1-x_y', key })
      },
    ),
  )
  const policy = { kind: 'policy', name: 'plan-pro' } as const
  expect(fieldOf(textOfField(policy))).toEqual(policy)
})

test.each([
  '',
  'version',
  '=',
  '=api',
  '=api:',
  '=api:u1',
  '=api:"',
  '=api:"\\u"',
  '=api:"a","b"',
  '=a b:"c"',
])('a foreign text is no field: %s', (field) => {
  expect(fieldOf(field)).toBeUndefined()
})
