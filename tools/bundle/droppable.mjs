// `sideEffects: false` lets a bundler leave out a file, but not a part of one; and a constant that
// a call makes might do something. So each such constant of a module is marked as one that may be
// left out, and an application's bundle is as large as of separate files. (Of an arrow function the
// build itself would make the value again, without the mark.)

/** A plugin of rolldown. */
export const droppable = {
  name: 'droppable',
  transform(code) {
    let text = code
    for (const init of markedIn(this.parse(code)).reverse()) {
      const value = code.slice(init.start, init.end)
      const isCall = /^(Call|New)/.test(init.type) && init.arguments.every(isPlain)
      const pure = `/* @__PURE__ */ ${isCall ? value : `(function () { return ${value} })()`}`
      text = `${text.slice(0, init.start)}${pure}${text.slice(init.end)}`
    }
    return { code: text, map: null }
  },
}

/** The values of a module's constants, without those of which a bundler sees that they are only
 *  values. */
function markedIn({ body }) {
  return body
    .map((statement) => statement.declaration ?? statement)
    .filter(({ type }) => type === 'VariableDeclaration')
    .flatMap(({ declarations }) => declarations.map(({ init }) => init))
    .filter((init) => !isPlain(init))
}

function isPlain(node) {
  if (typeof node !== 'object' || node === null) return true
  if (/Function|^Class/.test(node.type)) return true
  if (/^(Call|New|Member|Tagged|Spread|Assign|Update|Await)/.test(node.type)) return false
  return Object.values(node).every(isPlain)
}
