// How `changeset version` writes a changeset into a changelog: the text as it is, without the hash
// of its commit.

/** @param {{ summary: string }} changeset */
async function getReleaseLine({ summary }) {
  const [first, ...rest] = summary.trim().split('\n')
  return [`- ${first}`, ...rest.map((line) => (line === '' ? '' : `  ${line}`))].join('\n')
}

/** @param {readonly { name: string, newVersion: string }[]} released the dependencies */
async function getDependencyReleaseLine(_, released) {
  return released.map(({ name, newVersion }) => `- Goes with ${name} ${newVersion}.`).join('\n')
}

module.exports = { getReleaseLine, getDependencyReleaseLine }
