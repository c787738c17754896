// The build cuts a kernel's Lua into the pieces from which the loop over plain requests is made.

import { describe, expect, test } from 'vitest'
// @ts-expect-error: a tool, in JavaScript
import { kernelLuaOf as cut } from '../../../../tools/kernel-lua.mjs'
import type { KernelLua } from '../../src/algorithms/algorithm.js'
import * as modes from '../../src/algorithms/modes.js'
import { plainLoop } from '../../src/redis/transport/plain-loop.js'
import { kernels } from '../../src/testing/algorithms.js'

const kernelLuaOf = (text: string): KernelLua => cut(text, modes)

const functions = `
  local function read(key)
    -- A comment.
    left = state.left[key]
    return key
  end
  local function used()
    return limit - left
  end
  local function take(units)
    left = left - units
  end
  local function retry_after(cost)
    return cost > limit and -1 or 0
  end
  local function reset_after()
    local left_over = left
    return left_over, true
  end
  local function write(key, reset)
    call('SET', key, left + reset)
  end
  local function refund(units)
    left = left + units
  end
  local function reconcile(units)
    take(units)
  end
  local function restore(seen)
    left = limit - seen
  end
`
const text = (some: string) => `-- A kernel.
local MOST = 5
return function(limit, span)
  local state, left = {}, limit
  local ends
${some}
end
`

test('a kernel is cut into its functions, and the names of a policy are marked', () => {
  const lua = kernelLuaOf(text(functions))
  expect(lua.shared).toBe('local MOST = 5\n')
  expect(lua.kernel).toMatch(/^function\(limit, span\)\nlocal state, left = \{\}, limit\n/)
  expect(lua.kernel).not.toContain('A comment')
  expect(lua.numbers).toEqual(['@limit', '@span'])
  expect(lua.locals).toBe('local @state, @left = {}, @limit\nlocal @ends\n')
  expect(lua.functions.read).toEqual({
    parameters: ['key'],
    // A field with the same name is no local.
    body: '@left = @state.left[key]\n',
    result: 'key',
  })
  expect(lua.functions.used).toEqual({ parameters: [], body: '', result: '@limit - @left' })
  expect(lua.functions.take).toEqual({
    parameters: ['units'],
    body: '@left = @left - units\n',
    result: '',
  })
  expect(lua.functions.reset_after.result).toBe('left_over, true')
})

test.each([
  ['does not end with a function', 'return 1', undefined],
  [
    'has no limit as its first number',
    functions,
    ['return function(limit', 'return function(most'],
  ],
  ['has no function write', functions, ['function write', 'function wrote']],
  ['has no function reconcile', functions, ['function reconcile', 'function reconciled']],
  [
    'returns before its last line',
    functions,
    ['left = left -', 'if left then return end\nleft = left -'],
  ],
  ['has the name key1', functions, ['(key, reset)', '(key1, reset)']],
])('a kernel that cannot be pasted is refused: it %s', (message, some, change) => {
  const [from, to] = change ?? ['', '']
  const whole = (some.startsWith('return') ? some : text(some)).replace(
    from as string,
    to as string,
  )
  expect(() => kernelLuaOf(whole)).toThrow(message)
})

test('the driver gets all functions, and of those for modes the one for its mode', () => {
  const lua = kernelLuaOf(text(functions))
  expect(lua.kernel).toContain(`
local special
if mode == 'refund' or mode == 'cancel' or mode == 'settle' or mode == 'release' then
local function refund(units)
left = left + units
end
special = refund
elseif mode == 'reconcile' then
`)
  expect(lua.kernel).toContain(
    `
return { limit = limit, read = read, used = used, take = take, retry_after = retry_after, \
reset_after = reset_after, write = write, special = special }
end
`.replace('\\\n', ''),
  )
})

test('a kernel with reserved turns also has the functions for them', () => {
  const more = 'local function within(ms) return ms end\nlocal function cancel(units) end\n'
  const lua = kernelLuaOf(
    text(functions).replace('local function refund', `${more}local function refund`),
  )
  expect(lua.kernel).toContain(`
local special
if mode == 'reserve' or mode == 'preview' then
local function within(ms) return ms end
special = within
elseif mode == 'cancel' then
local function cancel(units) end
special = cancel
elseif mode == 'refund' or mode == 'settle' or mode == 'release' then
`)
})

test('the loop contains the bodies of the functions once for each policy, with separate names', () => {
  const lua = kernelLuaOf(text(functions))
  const loop = plainLoop([lua, lua])
  expect(loop).toContain('local p1_limit, p1_span = ARGV[1] + 0, ARGV[2] + 0\n')
  expect(loop).toContain('local p2_limit, p2_span = ARGV[3] + 0, ARGV[4] + 0\n')
  expect(loop).toContain('do\nlocal units = granted\np2_left = p2_left - units\n\nend')
  expect(loop).toContain('#ARGV <= 6 + #KEYS / 2')
})

test('above four policies the driver answers, since Lua allows 200 locals', () => {
  const lua = kernelLuaOf(text(functions))
  expect(plainLoop([lua, lua, lua, lua])).not.toBe('')
  expect(plainLoop([lua, lua, lua, lua, lua])).toBe('')
})

describe.each(Object.entries(kernels))('%s', (_, kernel) => {
  const { lua, traits } = kernel

  test('is answered by the loop if it counts units', () => {
    expect(lua.isPlain).toBe(!traits.takesOne)
  })

  test('has the functions of its traits, in both languages', () => {
    const functions = { block: traits.blocks, renew: traits.isHeld, restore: traits.restores }
    for (const [name, isThere] of Object.entries(functions)) {
      expect(name in kernel, name).toBe(isThere)
      expect(lua.kernel.includes(`function ${name}(`), name).toBe(isThere)
    }
  })
})
