// How many behaviours were tested, and those that differ with either store.

import type { Behaviour, Incumbent } from './incumbent.js'

export function differencesTable(incumbents: readonly Incumbent[]): string {
  const count = incumbents.flatMap((each) => each.behaviours).length
  const lines = incumbents.flatMap(({ name, versions, behaviours }) =>
    behaviours
      .filter(({ differs }) => differs !== undefined)
      .map((each) => `| ${name} ${lineOf(each, versions.length)}`),
  )
  return `Of ${count} documented behaviours, tested with each limiter's own store and with Weir's, these differ:

| limiter | documented | its own store | Weir's |
|---|---|---|---|
${lines.join('\n')}
`
}

function lineOf({ promise, differs, of }: Behaviour, count: number): string {
  const cell = (text: string | undefined): string => (text === undefined ? 'yes' : `no: ${text}`)
  const only = of === undefined || of.length === count ? '' : ` (${of.join(', ')})`
  return `| ${promise}${only} | ${cell(differs?.own)} | ${cell(differs?.weir)} |`
}
