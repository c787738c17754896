// All small changes to Lua that a test should notice: a line is left out, an operator or a constant
// is another.

const rules = [
  [/(?<![<>=~!-])<(?![=<])/g, '<='],
  [/<=/g, '<'],
  [/(?<![<>=-])>(?![=>])/g, '>='],
  [/(?<!>)>=/g, '>'],
  [/ \+ (?!0\b)/g, ' - '],
  [/ - /g, ' + '],
  [/ \* /g, ' / '],
  [/ \/ /g, ' * '],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/\bceil\(/g, 'floor('],
  [/\bfloor\(/g, 'ceil('],
  [/\bmin\(/g, 'max('],
  [/\bmax\(/g, 'min('],
  [
    /(?<![\w.'])\d[\d_]*(?![\w.]|\s*\*\*)/g,
    (digits) => String(Number(digits.replaceAll('_', '')) + 1),
  ],
  [/(?<!=)==(?!=)/g, '~='],
  [/~=/g, '=='],
  [/\band\b/g, 'or'],
  [/\bor\b/g, 'and'],
  [/\bnot /g, ''],
]

const comment = /^\s*(--|\/\/|\/\*|\*)/
/** Lines that only open, close or name something. */
const frames =
  /^\s*([{}()[\],;]*|end[,)]*|else|do|import .*|export (type|interface) .*|\} from .*)\s*$/

/**
 * @param {string} text Lua, or TypeScript that writes Lua
 * @returns {{ line: number, before: string, after: string, text: string }[]} `after` is '' where a
 * line is left out
 */
export function mutationsOf(text) {
  const lines = text.split('\n')
  return lines.flatMap((before, index) => {
    if (frames.test(before) || comment.test(before)) return []
    const changed = rules.flatMap(([pattern, other]) => variants(before, pattern, other))
    return ['', ...new Set(changed)].map((after) => {
      const mutated = [...lines]
      mutated[index] = after
      return {
        line: index + 1,
        before: before.trim(),
        after: after.trim(),
        text: mutated.join('\n'),
      }
    })
  })
}

/** The line with one match replaced, for each match outside of a comment. */
function variants(line, pattern, other) {
  const code = line.replace(/\s(--|\/\/).*$/, '')
  return [...code.matchAll(pattern)].flatMap((match) => {
    const [found] = match
    if (/[<>]/.test(found) && isOneOfTwo(code)) return []
    const replaced = typeof other === 'string' ? other : other(found)
    return line.slice(0, match.index) + replaced + line.slice(match.index + found.length)
  })
}

/** `a < b and a or b`: where the two are equal it does not matter which is taken. */
function isOneOfTwo(code) {
  return /([\w.]+) [<>]=? ([\w.]+) and (\1 or \2|\2 or \1)(?![\w.])/.test(code)
}
