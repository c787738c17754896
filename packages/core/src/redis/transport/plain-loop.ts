// The loop that answers plain requests: consume, of cost 1. They are by far the most requests. The
// loop takes about half of the driver's time, as it calls no functions: it holds the bodies of the
// kernels' functions, once for each policy. Its replies and writes are the same as the driver's.
// Before it stands the same text without the loop, for a request of any cost that is alone in its
// call.

import type { KernelLua, PastedLua } from '../../algorithms/algorithm.js'

/** Lua has at most 200 locals in a function, and a policy has up to 26. */
const MAX_POLICIES = 4

/** The loop for a list of policies, by their kernels, and its text for one request; '' for many
 *  policies, or if a kernel needs more than the loop does: the driver answers then. */
export function plainLoop(kernels: readonly KernelLua[]): string {
  const count = kernels.length
  if (count > MAX_POLICIES || kernels.some(({ isPlain }) => !isPlain)) return ''
  const given = argumentsOf(kernels)
  const total = totalOf(kernels)
  /** A text for each policy, with its number in the place of `@`. */
  const each = (text: (i: number, kernel: KernelLua) => string): string =>
    kernels.map((kernel, at) => text(at + 1, kernel).replaceAll('@', `p${at + 1}_`)).join('\n')

  const locals = each((i, kernel) => {
    const names = kernel.numbers.join(', ')
    return `local ${names} = ${inNumbers(given[i - 1] as readonly string[])}\n${kernel.locals}`
  })
  const places = each((i) => `local key${i}, ours${i}, used${i}, wait${i}, reset${i}, changed${i}`)
  const ones = each((i) => `local cost${i} = 1`)
  const costs = each((i) => `cost${i} = ARGV[${3 + total + i}] + 0`)
  // The arguments end with the mode; with how many equal requests each one stands for; or, for a
  // request alone, with 1 and its costs. Doubles are packed in half the time of a table. A foreign
  // key is left to the loop or the driver, which names it.
  return `if mode == 'consume' then
local is_plain = #ARGV <= ${2 + total} + #KEYS / ${count}
local has_costs = #ARGV == ${3 + total + count} and #KEYS == ${count} and ARGV[${3 + total}] == '1'
if is_plain or has_costs then
${locals}
if has_costs or #KEYS == ${count} and #ARGV <= ${2 + total} then
  local granted = 1
  ${places}
  ${ones}
  if has_costs then
    ${costs}
  end
  ${each((i, kernel) => readOf(i, kernel, `KEYS[${i}]`, aloneOf(i)))}
  ${each((i, kernel) => decisionOf(i, kernel, `cost${i}`))}
  if granted >= 0 then
    ${each((i, kernel) => writeOf(i, kernel, `cost${i} > 0 and `))}
    return struct.pack('>dd${'ddd'.repeat(count)}', us, granted
    ${each((i) => `, ${leftOf(i)}, wait${i}, reset${i}`)})
  end
end
if is_plain then
local reply = { us, 0, 0, 0, 0 }
local at, count_at = 1, ${3 + total}
for base = 0, #KEYS - ${count}, ${count} do
  local granted = (ARGV[count_at] or 1) + 0
  count_at = count_at + 1
  ${places}
  ${each((i, kernel) => readOf(i, kernel, `KEYS[base + ${i}]`, joinedOf(i)))}
  ${each((i, kernel) => decisionOf(i, kernel))}
  reply[at + 1] = granted
  if granted >= 0 then
    ${each(replyOf)}
    ${each((i, kernel) => writeOf(i, kernel))}
  else
    for i = at + 2, at + ${1 + 3 * count} do reply[i] = 0 end
  end
  at = at + ${1 + 3 * count}
end
return cmsgpack.pack(reply)
end
end
end
`
}

/** @param judged how many requests the policy grants, of those that the ones before it did */
function readOf(
  i: number,
  { functions: { read, used } }: KernelLua,
  key: string,
  judged: string,
): string {
  return `
if granted >= 0 then
  key${i} = ${key}
  ${paste(`ours${i}`, read, `key${i}`)}
  if ours${i} then
    ${paste(`used${i}`, used)}
    ${judged}
  else
    granted = -${i}
  end
end`
}

function aloneOf(i: number): string {
  return `if cost${i} > 0 and used${i} + cost${i} > @limit then granted = 0 end`
}

function joinedOf(i: number): string {
  return `if used${i} + granted > @limit then
      granted = used${i} < @limit and @limit - used${i} or 0
    end`
}

/** @param cost if the request is alone: the local that has its cost */
function decisionOf(
  i: number,
  { functions: { take, used, retry_after, reset_after } }: KernelLua,
  cost?: string,
): string {
  const taken = cost ?? 'granted'
  // A request that is denied waits until its cost fits, any other until one unit is available.
  const asked = cost === undefined ? '1' : `granted == 0 and ${cost} > 0 and ${cost} or 1`
  return `
if granted >= 0 then
  wait${i} = 0
  if granted > 0 and ${taken} > 0 then
    ${paste('', take, taken)}
    ${paste(`used${i}`, used)}
  end
  local asked = ${asked}
  if asked > @limit then
    wait${i} = -1
  elseif used${i} + asked > @limit then
    ${paste(`wait${i}`, retry_after, 'asked')}
  end
  if wait${i} then
    ${paste(`reset${i}, changed${i}`, reset_after)}
  else
    granted = -${i}
  end
end`
}

function leftOf(i: number): string {
  return `used${i} < @limit and @limit - used${i} or 0`
}

function replyOf(i: number): string {
  return `
reply[at + ${3 * i - 1}] = ${leftOf(i)}
reply[at + ${3 * i}] = wait${i}
reply[at + ${3 * i + 1}] = reset${i}`
}

function writeOf(i: number, { functions: { write } }: KernelLua, isCharged = ''): string {
  return `
if ${isCharged}changed${i} then
  if reset${i} > 0 then
    ${paste('', write, `key${i}, reset${i}`)}
  else
    call('DEL', key${i})
  end
end`
}

/** For each policy, the arguments of a script that are its numbers: they come before all others. */
export function argumentsOf(kernels: readonly KernelLua[]): readonly (readonly string[])[] {
  const total = totalOf(kernels)
  let at = 0
  return kernels.map(({ numbers }) =>
    numbers.map(() => {
      at += 1
      return at === total ? 'last_number' : `ARGV[${at}]`
    }),
  )
}

/** The locals that `argumentsOf` and the prologue need. If nothing follows the numbers, a last one
 *  of 0 may be missing: each argument takes 3 % of the time of a request that is alone. */
export function numbersOf(kernels: readonly KernelLua[]): string {
  const total = totalOf(kernels)
  return `local numbers, last_number = ${total}, ARGV[${total}] or 0\n`
}

function totalOf(kernels: readonly KernelLua[]): number {
  return kernels.flatMap(({ numbers }) => numbers).length
}

/** Arguments, which are texts, as numbers. */
export function inNumbers(texts: readonly string[]): string {
  return texts.map((text) => `${text} + 0`).join(', ')
}

/** The body of a function in place of a call: `results = f(given)`. */
function paste(results: string, { parameters, body, result }: PastedLua, given = ''): string {
  const opening = parameters.length > 0 ? `local ${parameters.join(', ')} = ${given}` : ''
  const closing = results === '' ? '' : `${results} = ${result}`
  return `do\n${opening}\n${body}${closing}\nend`
}
