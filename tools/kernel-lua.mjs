// Cuts the Lua of a kernel into the pieces that scripts are made of (KernelLua in
// algorithms/algorithm.ts). The file ends with `return function(limit, ...)`, which makes the
// kernel of one policy from its numbers; its parameters show how many there are. The code above it
// is the same for all policies. The function begins with the locals of a policy: constants of a
// call, and the state of a key. Its own functions follow. Those that are pasted return only on
// their last line. Those of modes come last, and a script makes only the one of its call's mode.
// This tool adds what the function returns.
import { parse } from 'luaparse'

const PASTED = ['read', 'used', 'take', 'retry_after', 'reset_after', 'write']
/** Functions of modes, in the order of their tests. */
const SPECIAL = [
  'within',
  'ahead',
  'cancel',
  'refund',
  'reconcile',
  'restore',
  'block',
  'unblock',
  'renew',
]
/** Functions that a kernel may omit. */
const OPTIONAL = ['within', 'ahead', 'cancel', 'restore', 'block', 'unblock', 'renew']
/** Functions that the driver calls if a kernel has them. The loop does not know them. */
const OF_DRIVER = ['may_begin', 'refuse', 'life']
/** Those that the loop does not need: it answers only requests that are judged. */
const UNJUDGED = ['settle', 'spend']

/**
 * @param {string} text of a kernel.lua
 * @param {typeof import('../packages/core/src/algorithms/modes.js')} modes
 * @returns {import('../packages/core/src/algorithms/algorithm.js').KernelLua}
 * @throws {Error} if it cannot be cut
 */
export function kernelLuaOf(text, { CALL_MODES, reserves }) {
  const { body: chunk } = parse(text, { luaVersion: '5.1', ranges: true, scope: true })
  const last = chunk.at(-1)
  const [kernel] = last?.type === 'ReturnStatement' ? last.arguments : []
  if (kernel?.type !== 'FunctionDeclaration') throw new Error('does not end with a function')
  const numbers = kernel.parameters.map(({ name }) => name)
  if (numbers[0] !== 'limit') throw new Error('has no limit as its first number')
  const locals = kernel.body.slice(0, kernel.body.findIndex(isFunction))
  const names = [
    ...numbers,
    ...locals.flatMap(({ variables = [] }) => variables.map(({ name }) => name)),
  ]
  const places = [...nodesOf(kernel)]
    .filter(({ type, name, isLocal }) => type === 'Identifier' && isLocal && names.includes(name))
    .map(({ range }) => range[0])
  return {
    shared: withoutComments(text.slice(0, last.range[0])),
    kernel: withoutComments(wholeKernel()),
    numbers: numbers.map((name) => `@${name}`),
    isPlain: isPlain(),
    locals: marked(text, locals[0].range[0], locals.at(-1).range[1], places),
    functions: Object.fromEntries(PASTED.map((name) => [name, pastedOf(name)])),
  }

  /** The function in the form for the driver: it returns its functions, by name. */
  function wholeKernel() {
    const names = SPECIAL.filter((name) => has(name) || !OPTIONAL.includes(name))
    const special = names.map((name) => ({ name, range: functionOf(name).range }))
    const common = text.slice(kernel.range[0], special[0].range[0])
    const made = special.map(({ name, range }) => {
      const isOne = modesOf(name)
        .map((mode) => `mode == '${mode}'`)
        .join(' or ')
      return `if ${isOne} then\n${text.slice(...range)}\nspecial = ${name}\n`
    })
    const own = [...OF_DRIVER, ...UNJUDGED].filter(has)
    const fields = ['limit', ...PASTED, ...own].map((name) => `${name} = ${name}`)
    // The traits `isHeld` and not `restores`. Most kernels have neither field: more fields would
    // make their table larger.
    if (has('renew')) fields.push('is_held = true')
    if (!has('restore')) fields.push('is_lost = true')
    return `${common}
local special
${made.join('else')}end
return { ${fields.join(', ')}, special = special }
end
`
  }

  /** The modes that make a function. A kernel that cannot cancel or release refunds instead. */
  function modesOf(name) {
    return Object.keys(CALL_MODES).filter((mode) => {
      if (mode === 'lease') return name === 'ahead'
      if (reserves(mode)) return name === 'within'
      const { correction } = CALL_MODES[mode]
      const isGivenBack = ['cancel', 'release'].includes(correction) && !has(correction)
      return correction === name || (isGivenBack && name === 'refund')
    })
  }

  /** Whether the loop may answer: it uses only the pasted functions, which call no others. */
  function isPlain() {
    const others = kernel.body.filter((node) => isFunction(node) && !PASTED.includes(nameOf(node)))
    const known = others.map(nameOf)
    const pasted = PASTED.flatMap((name) => [...nodesOf(functionOf(name))])
    const calls = pasted.some(({ type, name }) => type === 'Identifier' && known.includes(name))
    return !calls && !known.some((name) => OF_DRIVER.includes(name))
  }

  function has(name) {
    return kernel.body.some((node) => isFunction(node) && node.identifier?.name === name)
  }

  function functionOf(name) {
    if (!has(name)) throw new Error(`has no function ${name}`)
    return kernel.body.find((node) => node.identifier?.name === name)
  }

  function pastedOf(name) {
    const found = functionOf(name)
    const end = found.body.at(-1)
    const returns = [...nodesOf(found)].filter(({ type }) => type === 'ReturnStatement')
    if (returns.some((node) => node !== end))
      throw new Error(`${name} returns before its last line`)
    // Names with a number at the end are reserved for the loop.
    const clash = [...nodesOf(found)].find((node) => /\d$/.test(node.name ?? ''))
    if (clash !== undefined) throw new Error(`${name} has the name ${clash.name}`)
    const results = returns.flatMap((node) => node.arguments)
    const bodyEnd = end.range[returns.length > 0 ? 0 : 1]
    return {
      parameters: found.parameters.map((parameter) => parameter.name),
      body: marked(text, found.body[0].range[0], bodyEnd, places),
      result: results.map(({ range }) => marked(text, ...range, places).trimEnd()).join(', '),
    }
  }
}

function nameOf({ identifier }) {
  return identifier?.name
}

function isFunction({ type }) {
  return type === 'FunctionDeclaration'
}

function* nodesOf(value) {
  if (value === null || typeof value !== 'object') return
  if (typeof value.type === 'string') yield value
  for (const child of Object.values(value)) yield* nodesOf(child)
}

/** A part of the text, with a mark at each of the places in it. */
function marked(text, start, end, places) {
  let piece = ''
  for (let at = start; at < end; at += 1) piece += places.includes(at) ? `@${text[at]}` : text[at]
  return withoutComments(piece)
}

/** Removes comments and indentation, which Redis does not need. */
export function withoutComments(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  const kept = lines.filter((line) => line !== '' && !line.startsWith('--'))
  return kept.map((line) => `${line}\n`).join('')
}
