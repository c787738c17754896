// Other forms of the script, made from its text.
//
// With literal keys: some proxies read a script before they run it, and refuse one in which a
// command's key is anything but KEYS and a number. Alibaba Cloud's does, unless its parameter
// `script_check_enable` is 0. Such a script decides one request, so that each key has a number.
//
// With replies in text: for clients that decode bulk strings as text, which would destroy packed
// numbers.

import { quote } from '../../base/errors.js'

export interface ScriptForm {
  readonly hasLiteralKeys?: boolean
  readonly repliesInText?: boolean
}

/** What such a proxy says. Nothing has run. */
const REFUSAL = /\bbad lua script\b|\bKEYS array\b/i

export function needsLiteralKeys(error: unknown): boolean {
  return error instanceof Error && REFUSAL.test(error.message)
}

/** A kernel's Lua, made to read and write the key of one policy, counted from 1. */
export function kernelWithLiteralKey(lua: string, policy: number): string {
  return lua.replace(/\b(p?call)\('(\w+)', key\b/g, `redis.$1('$2', KEYS[${policy}]`)
}

/** The driver's Lua, or the prologue's. Both name a key by the number of its policy, `i`. */
export function driverWithLiteralKeys(lua: string, policies: number): string {
  const made = new Map<string, string>()
  const text = lua
    .replace(/\b(p?call)\('(\w+)', (mark|KEYS\[base \+ i\])(?:, )?/g, (_, call, command, place) => {
      const isMark = place === 'mark'
      const name = `${isMark ? 'mark' : 'key'}_${command.toLowerCase()}`
      const each = Array.from({ length: policies }, (_, i) => {
        const key = `KEYS[${(isMark ? policies : 0) + i + 1}]`
        return `function(...) return redis.${call}('${command}', ${key}, ...) end`
      })
      made.set(name, `local ${name} = {\n${each.join(',\n')}\n}\n`)
      return `${name}[i](`
    })
    .replace(/^local p?call = .*\n/gm, '')
    .replace(/(?<![.\w])call\('TIME'\)/, "redis.call('TIME')")
    .replace(/, KEYS\b(?!\[)/g, '')
    .replace(/#KEYS\b/g, 'stride')
    .replace(/KEYS\[base[^\]]*\]/g, 'nil')
  return [...made.values(), text].join('')
}

const TEXT_OF = `local function text_of(numbers)
for i = 1, #numbers do numbers[i] = string.format('%.0f', numbers[i]) end
return table.concat(numbers, ' ')
end
local struct = { pack = function(_, ...) return text_of({ ... }) end }
`

export function replyingInText(source: string): string {
  return TEXT_OF + source.replaceAll('cmsgpack.pack(', 'text_of(')
}

/** @throws {TypeError} if it is something else */
export function numbersInText(text: string): number[] {
  const numbers = text.split(' ').map(Number)
  if (text === '' || !numbers.every(Number.isSafeInteger))
    throw new TypeError(`the reply is ${quote(text)} where numbers belong`)
  return numbers
}
