// The loop that answers plain requests: consume, of cost 1. They are by far the most requests. The
// loop takes about half of the driver's time, as it calls no functions: it holds the bodies of the
// kernels' functions, once for each policy. Its replies and writes are the same as the driver's.

import type { KernelLua, PastedLua } from '../../algorithms/algorithm.js'

/** Lua has at most 200 locals in a function, and a policy has up to 26. */
const MAX_POLICIES = 4

/** The loop for a list of policies, by their kernels; '' for many policies, or if a kernel needs
 *  more than the loop does: the driver answers then. */
export function plainLoop(kernels: readonly KernelLua[]): string {
  const count = kernels.length
  if (count > MAX_POLICIES || kernels.some(({ isPlain }) => !isPlain)) return ''
  const given = argumentsOf(kernels)
  const total = given.flat().length
  /** A text for each policy, with its number in the place of `@`. */
  const each = (text: (i: number, kernel: KernelLua) => string): string =>
    kernels.map((kernel, at) => text(at + 1, kernel).replaceAll('@', `p${at + 1}_`)).join('\n')

  const locals = each((i, kernel) => {
    const names = kernel.numbers.join(', ')
    return `local ${names} = ${inNumbers(given[i - 1] as readonly string[])}\n${kernel.locals}`
  })
  const places = each((i) => `local key${i}, ours${i}, used${i}, wait${i}, reset${i}, changed${i}`)
  const [reads, decisions, writes] = [each(readOf), each(decisionOf), each(writeOf)]
  // The arguments end with the mode, or with how many equal requests each one stands for.
  return `if mode == 'consume' and #ARGV <= ${2 + total} + #KEYS / ${count} then
${locals}
local reply = { us, 0, 0, 0, 0 }
local at, count_at = 1, ${3 + total}
for base = 0, #KEYS - ${count}, ${count} do
  local granted = (ARGV[count_at] or 1) + 0
  count_at = count_at + 1
  ${places}
  ${reads}
  ${decisions}
  reply[at + 1] = granted
  if granted >= 0 then
    ${writes}
  else
    for i = at + 2, at + ${1 + 3 * count} do reply[i] = 0 end
  end
  at = at + ${1 + 3 * count}
end
return cmsgpack.pack(reply)
end
`
}

function readOf(i: number, { functions: { read, used } }: KernelLua): string {
  return `
if granted >= 0 then
  key${i} = KEYS[base + ${i}]
  ${paste(`ours${i}`, read, `key${i}`)}
  if ours${i} then
    ${paste(`used${i}`, used)}
    if used${i} + granted > @limit then
      granted = used${i} < @limit and @limit - used${i} or 0
    end
  else
    granted = -${i}
  end
end`
}

function decisionOf(
  i: number,
  { functions: { take, used, retry_after, reset_after } }: KernelLua,
): string {
  return `
if granted >= 0 then
  wait${i} = 0
  if granted > 0 then
    ${paste('', take, 'granted')}
    ${paste(`used${i}`, used)}
  end
  if @limit == 0 then
    wait${i} = -1
  elseif used${i} >= @limit then
    ${paste(`wait${i}`, retry_after, '1')}
  end
  if wait${i} then
    ${paste(`reset${i}, changed${i}`, reset_after)}
  else
    granted = -${i}
  end
end`
}

function writeOf(i: number, { functions: { write } }: KernelLua): string {
  return `
reply[at + ${3 * i - 1}] = used${i} < @limit and @limit - used${i} or 0
reply[at + ${3 * i}] = wait${i}
reply[at + ${3 * i + 1}] = reset${i}
if changed${i} then
  if reset${i} > 0 then
    ${paste('', write, `key${i}, reset${i}`)}
  else
    call('DEL', key${i})
  end
end`
}

/** For each policy, the arguments of a script that are its numbers: they come before all others. */
export function argumentsOf(kernels: readonly KernelLua[]): readonly (readonly string[])[] {
  let last = 0
  return kernels.map(({ numbers }) =>
    numbers.map(() => {
      last += 1
      return `ARGV[${last}]`
    }),
  )
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
