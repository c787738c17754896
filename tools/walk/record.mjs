// Loader hooks for ../walk.mjs: in the built packages, each function says when it begins and ends,
// and when it waits and goes on (see `globalThis.weirWalk` there).
import { importFromCore } from '../load-ts.mjs'

const { parseAst } = await importFromCore('vite')
const BUILT = /\/packages\/(\w+)\/dist\/esm\/(.+)\.js$/

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  const [, name, file] = BUILT.exec(url) ?? []
  if (file === undefined || loaded.format !== 'module') return loaded
  return { ...loaded, source: recorded(String(loaded.source), `${name}/${file}.ts`) }
}

/** The source with a call at the begin and the end of every function, and around every await. */
function recorded(text, file) {
  const inserts = []
  visit(parseAst(text), '')
  // What was found first stays outside: the sort is stable.
  inserts.sort((a, b) => a.at - b.at)
  let result = ''
  let from = 0
  for (const { at, code } of inserts) {
    result += text.slice(from, at) + code
    from = at
  }
  return result + text.slice(from)

  function visit(node, outer) {
    if (Array.isArray(node)) for (const each of node) visit(each, outer)
    if (typeof node?.type !== 'string') return
    const name = nameOf(node) ?? outer
    const [before, after] = codeFor(node, JSON.stringify([file, name]))
    for (const insert of before) inserts.push(insert)
    for (const child of Object.values(node)) if (typeof child === 'object') visit(child, name)
    for (const insert of after) inserts.push(insert)
  }

  /** What is put in before the code within the node, and what after it. */
  function codeFor(node, place) {
    if (node.type === 'AwaitExpression') {
      const { start, end, argument } = node
      const before = [
        { at: start, code: `weirWalk.goOn(${place},` },
        { at: argument.start, code: 'weirWalk.wait(' },
      ]
      return [before, [{ at: end, code: '))' }]]
    }
    if (!/^(Arrow)?Function(Declaration|Expression)?/.test(node.type)) return [[], []]
    const { body, end } = node
    const begin = `weirWalk.begin(${place});try{`
    const finish = '}finally{weirWalk.end()}'
    if (body.type === 'BlockStatement')
      return [[{ at: body.start + 1, code: begin }], [{ at: body.end - 1, code: finish }]]
    const arrow = text.lastIndexOf('=>', body.start) + 2
    return [[{ at: arrow, code: `{${begin}return(` }], [{ at: end, code: `)${finish}}` }]]
  }
}

/** What a function is called: its own name, or that of what holds it. */
function nameOf({ type, id, key, left }) {
  if (/^(Function|Class|VariableDeclarator)/.test(type)) return id?.name
  if (/^(MethodDefinition|Property|PropertyDefinition)$/.test(type)) return key.name
  return type === 'AssignmentExpression' ? left.property?.name : undefined
}
