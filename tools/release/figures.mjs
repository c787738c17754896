// The measured figures of a document: numbers with a unit that nobody would choose. 3.6 us, 42 %,
// 5.4 s and 1,460 bytes are figures; 500 ms, 5 s, 70 % and 1,000 a second are mostly defaults,
// limits and examples, and too common to compare.

/** The spellings of units, and the unit of each. */
const UNITS = new Map([
  ['us', 'us'],
  ['µs', 'us'],
  ['ns', 'ns'],
  ['ms', 'ms'],
  ['s', 's'],
  ['seconds', 's'],
  ['bytes', 'bytes'],
  ['kB', 'kB'],
  ['MB', 'MB'],
  ['%', '%'],
  ['times', 'times'],
  ['x INCR', 'times'],
  ['instructions', 'instructions'],
  ['/s', '/s'],
  ['a second', '/s'],
  ['decisions a second', '/s'],
  ['requests a second', '/s'],
])
const NUMBER = /(?<![\w.,:/#-])\d[\d,]*(?:\.\d+)?/g
const BETWEEN = /(?:, | and | or | to | instead of |; |-)/.source
const UNIT = [...UNITS.keys()].sort((a, b) => b.length - a.length).join('|')
/** One or several numbers, followed by their unit: `4.6 and 2.5 us`. */
const FIGURES = new RegExp(
  `(${NUMBER.source}(?:${BETWEEN}${NUMBER.source})*)[ -]?(${UNIT})(?![\\w/])`,
  'g',
)
/** Text that tools measure and generate. */
const WRITTEN = /<!-- (\w+):start -->.*?<!-- \1:end -->/gs
/** The unit of a column or a row of numbers: `client CPU, us (x INCR)`. */
const HEAD = /(?:, |^)(us|bytes|decisions\/s)(?= |:|$)/

/**
 * Each figure once, in the form `3.6 us`. Generated text counts only in columns or rows with a
 * unit, and with three digits: its many other numbers equal those of others by chance.
 * @param {string} text Markdown
 * @returns {Set<string>}
 */
export function figuresIn(text) {
  const prose = text
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, '``')
    .replace(/\]\([^)]*\)/g, ']')
  const written = [...prose.matchAll(WRITTEN)].flatMap(([table]) => cellsWithUnit(table))
  const byHand = prose.replace(WRITTEN, '').replace(/<!--.*?-->/gs, '')
  const found = [...byHand.replace(/\s+/g, ' ').matchAll(FIGURES)].flatMap(
    ([, numbers = '', unit = '']) => numbersIn(numbers).map((number) => figure(number, unit)),
  )
  return new Set(
    [
      ...found.filter(({ number, unit }) => isMeasured(number, unit)),
      ...cellsWithUnit(byHand).filter(({ number }) => digitsOf(number) >= 2),
      ...written.filter(({ number }) => digitsOf(number) >= 3),
    ].map(({ number, unit }) => `${number} ${unit}`),
  )
}

/**
 * The numbers of tables whose columns or rows have a unit.
 * @param {string} text
 */
function cellsWithUnit(text) {
  /** @type {{ number: string, unit: string }[]} */
  const found = []
  /** @type {string[]} */
  let head = []
  for (const line of text.split('\n')) {
    const cells = line.startsWith('|') ? line.split('|').slice(1, -1) : []
    if (cells.length === 0) head = []
    else if (head.length === 0) head = cells
    const [first = '', ...others] = cells.map((cell) => cell.trim())
    others.forEach((cell, i) => {
      const unit = (HEAD.exec(head[i + 1]?.trim() ?? '') ?? HEAD.exec(first))?.[1]
      // Brackets contain the number of the comparison.
      const numbers = unit === undefined ? [] : numbersIn(cell.replace(/\([^)]*\)/g, ''))
      for (const number of numbers)
        found.push(figure(number, unit === 'decisions/s' ? '/s' : String(unit)))
    })
  }
  return found
}

/** @param {string} text */
function numbersIn(text) {
  return text.match(NUMBER) ?? []
}

/**
 * @param {string} number
 * @param {string} unit
 */
function figure(number, unit) {
  return { number, unit: UNITS.get(unit) ?? unit }
}

/**
 * Whether nobody would choose this number.
 * @param {string} number
 * @param {string} unit
 */
function isMeasured(number, unit) {
  if (['us', 'ns', 'bytes', 'kB'].includes(unit)) return true
  const digits = digitsOf(number)
  if (unit === '%') return digits >= 2 && Number(number.replaceAll(',', '')) % 5 !== 0
  if (['times', 'instructions', 'MB'].includes(unit)) return digits >= 2
  return digits >= 3 || (number.includes('.') && !number.endsWith('.5'))
}

/**
 * The significant digits: two in 1,400, and two in 0.97.
 * @param {string} number
 */
function digitsOf(number) {
  const plain = number.replaceAll(',', '')
  return plain.includes('.')
    ? plain.replace('.', '').replace(/^0+/, '').length
    : plain.replace(/0+$/, '').length
}
