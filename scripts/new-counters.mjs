// Changesets of the kind "new counters": a line names the algorithms whose counts start again.
// internal/fleet/src/versions checks that the kernels of these, and no others, have a new id.
//
//   New counters: bucket, sliding-log.

const LINE = /^New counters:(.*)$/gm
const NAMES = /^ [a-z]+(-[a-z]+)*(, [a-z]+(-[a-z]+)*)*\.$/

/**
 * @param {string} text of a changeset
 * @returns {string[]} folders of packages/core/src/algorithms
 * @throws {Error} if the line names no known algorithm
 */
export function newCountersIn(text) {
  return [...text.matchAll(LINE)].flatMap(([line, names]) => {
    if (NAMES.test(names)) return names.slice(1, -1).split(', ')
    const right = "folders of packages/core/src/algorithms: 'New counters: bucket, sliding-log.'"
    throw new Error(`the line "${line}" should end with a full stop, and name ${right}`)
  })
}
