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
