// The behaviours with each store, as tables: all for results/tested.md, those that differ for
// docs/compat.md.

import type { Behaviour, Incumbent } from './incumbent.js'

export function behavioursTable(incumbents: readonly Incumbent[]): string {
  return incumbents.map(sectionOf).join('\n')
}

export function differencesTable(incumbents: readonly Incumbent[]): string {
  const counts = incumbents.map((each) => `${titleOf(each)} (${each.behaviours.length})`)
  const lines = incumbents.flatMap(({ name, versions, behaviours }) =>
    behaviours
      .filter(({ differs }) => differs !== undefined)
      .map((each) => `| ${name} ${lineOf(each, versions.length)}`),
  )
  return `How many documented behaviours were tested: ${counts.join('; ')}. All are as documented over both stores, except:

| limiter | documented | its own store | Weir's |
|---|---|---|---|
${lines.join('\n')}
`
}

function titleOf({ name, versions }: Incumbent): string {
  return `${name} ${versions.map(({ version }) => version).join(', ')}`
}

function sectionOf(incumbent: Incumbent): string {
  const { own, versions, behaviours } = incumbent
  return `### ${titleOf(incumbent)}

| documented | ${own} | Weir's |
|---|---|---|
${behaviours.map((each) => lineOf(each, versions.length)).join('\n')}
`
}

function lineOf({ promise, differs, of }: Behaviour, count: number): string {
  const cell = (text: string | undefined): string => (text === undefined ? 'yes' : `no: ${text}`)
  const only = of === undefined || of.length === count ? '' : ` (${of.join(', ')})`
  return `| ${promise}${only} | ${cell(differs?.own)} | ${cell(differs?.weir)} |`
}
