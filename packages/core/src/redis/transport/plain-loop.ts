// The loop that answers plain requests: consume, of cost 1. They are most requests by far, and it
// takes about half of the driver's time, for it calls no functions: it holds the bodies of the
// kernels' functions, once for each policy. Replies and writes are the driver's.

import type { KernelLua, PastedLua } from '../../algorithms/algorithm.js'

const MAX_POLICIES = 4
/** Lua has at most 200 locals in a function, and other parts of a script have theirs. */
const MAX_LOCALS = 120

/** The loop for a list of policies, by their kernels. For many policies '': the driver answers. */
export function plainLoop(kernels: readonly KernelLua[]): string {
  const count = kernels.length
  if (count > MAX_POLICIES || localsOf(kernels) > MAX_LOCALS) return ''
  const { total, argumentsOf } = numbersOf(kernels)
  /** A text for each policy, with its number in the place of `@`. */
  const each = (text: (i: number, kernel: KernelLua) => string): string =>
    kernels.map((kernel, at) => text(at + 1, kernel).replaceAll('@', `p${at + 1}_`)).join('\n')

  const locals = each((i, kernel) => {
    const names = kernel.numbers.join(', ')
    return `local ${names} = ${inNumbers(argumentsOf(i - 1))}\n${kernel.locals}`
  })
  const places = each((i) => `local key${i}, ours${i}, used${i}, wait${i}, reset${i}, changed${i}`)
  const reads = each(
    (i, { functions: { read, used } }) => `
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
end`,
  )
  const decisions = each(
    (i, { functions: { take, used, retry_after, reset_after } }) => `
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
end`,
  )
  const writes = each(
    (i, { functions: { write } }) => `
reply[at + ${3 * i - 1}] = used${i} < @limit and @limit - used${i} or 0
reply[at + ${3 * i}] = wait${i}
reply[at + ${3 * i + 1}] = reset${i}
if changed${i} then
  if reset${i} > 0 then
    ${paste('', write, `key${i}, reset${i}`)}
  else
    call('DEL', key${i})
  end
end`,
  )
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

/** Where the numbers of each policy stand among the arguments of a script: `total` of them at its
 *  beginning, policy by policy. */
export function numbersOf(kernels: readonly KernelLua[]): {
  readonly total: number
  readonly argumentsOf: (place: number) => readonly string[]
} {
  const firsts = [1]
  for (const { numbers } of kernels) firsts.push((firsts.at(-1) as number) + numbers.length)
  const argumentsOf = (place: number): string[] => {
    const { numbers } = kernels[place] as KernelLua
    return numbers.map((_, at) => `ARGV[${(firsts[place] as number) + at}]`)
  }
  return { total: (firsts.at(-1) as number) - 1, argumentsOf }
}

/** Arguments, which are texts, as numbers. */
export function inNumbers(texts: readonly string[]): string {
  return texts.map((text) => `${text} + 0`).join(', ')
}

/** The locals that the loop has for these policies. */
function localsOf(kernels: readonly KernelLua[]): number {
  const own = kernels.map(({ numbers, locals }) => {
    const names = `${numbers} ${locals}`.match(/@\w+/g)
    return new Set(names).size + LOCALS_OF_LOOP
  })
  return own.reduce((sum, each) => sum + each, 0)
}

/** Those that the loop itself has for a policy. */
const LOCALS_OF_LOOP = 6

/** The body of a function in place of a call: `results = f(given)`. */
function paste(results: string, { parameters, body, result }: PastedLua, given = ''): string {
  const opening = parameters.length > 0 ? `local ${parameters.join(', ')} = ${given}` : ''
  const closing = results === '' ? '' : `${results} = ${result}`
  return `do\n${opening}\n${body}${closing}\nend`
}
