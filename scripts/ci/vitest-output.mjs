// Reads the output of vitest: how many tests ran, which failed, and warnings that no test asked
// for.

const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
/** How many lines are shown for each failed test, and in total. */
const SHOWN = { after: 16, all: 300 }

/** @param {string} text */
export function withoutColour(text) {
  return text.replace(COLOUR, '')
}

/** @returns {{ passed: number, failed: number, skipped: number }} */
export function noTotals() {
  return { passed: 0, failed: 0, skipped: 0 }
}

/**
 * Adds the summary lines of all runs of vitest, such as `Tests  2 failed | 14 passed (16)`.
 * @param {Record<string, number>} totals
 * @param {string} text
 */
export function addTotals(totals, text) {
  for (const line of linesOf(text).filter((line) => / Tests {2}/.test(line)))
    for (const [, count, outcome] of line.matchAll(/(\d+) (passed|failed|skipped)/g))
      totals[outcome ?? ''] = (totals[outcome ?? ''] ?? 0) + Number(count)
}

/**
 * The lines about failed tests, to repeat them at the end of a long log.
 * @param {string} text
 */
export function failuresIn(text) {
  let left = 0
  const shown = linesOf(text).filter((line) => {
    left = / FAIL /.test(line) ? SHOWN.after : left - 1
    return left > 0
  })
  return shown
    .map((line) => `${line}\n`)
    .slice(0, SHOWN.all)
    .join('')
}

/**
 * Warnings, including those of processes that a test started.
 * @param {string} text
 */
export function warningsIn(text) {
  return linesOf(text).filter((line) => /\(node:\d+\) |\[ioredis\] |^\S* *stderr \|/.test(line))
}

/** @param {string} text */
function linesOf(text) {
  return withoutColour(text).split('\n')
}
