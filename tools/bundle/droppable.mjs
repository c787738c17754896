// `sideEffects: false` lets a bundler drop a file, but not a part of one; and a constant that a
// call makes might have side effects. So each such constant of a module is marked as one that may
// be dropped, and a bundle of an application is as small as with separate files. (For an arrow
// function, the build would restore the value without the mark.)

/** A plugin for rolldown. */
export const droppable = {
  name: 'droppable',
  transform(code) {
    let text = code
    for (const init of markedIn(this.parse(code, { lang: 'ts' })).reverse()) {
      const value = code.slice(init.start, init.end)
      const isCall = /^(Call|New)/.test(init.type) && init.arguments.every(isPlain)
      const pure = `/* @__PURE__ */ ${isCall ? value : `(function () { return ${value} })()`}`
      text = `${text.slice(0, init.start)}${pure}${text.slice(init.end)}`
    }
    return { code: text, map: null }
  },
}

/** The values of a module's constants, except for those that a bundler recognizes as plain
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
