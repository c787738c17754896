// The behaviours with each store, as tables for docs/compat-tested.md.

import type { Behaviour, Incumbent } from './incumbent.js'

export function behavioursTable(incumbents: readonly Incumbent[]): string {
  return incumbents.map(sectionOf).join('\n')
}

function sectionOf({ name, own, versions, behaviours }: Incumbent): string {
  const numbers = versions.map(({ version }) => version).join(', ')
  return `### ${name} ${numbers}

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
