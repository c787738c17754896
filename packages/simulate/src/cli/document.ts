// What a command prints: a document with a few kinds of blocks, written as text, Markdown or HTML.
// All text of a log goes through here, and is made harmless for each of the three.

import { shown } from '../log/shown.js'

export type Block =
  | { readonly kind: 'title'; readonly text: string }
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly Row[] }
  /** Only in HTML, beside a table that says the same. */
  | { readonly kind: 'plot'; readonly svg: string }

export type Row = readonly string[]

/** Cells that are right-aligned. */
const NUMBER = /^<?[\d,]+(\.\d+)?( ?%| ?[a-zA-Zµ]{1,3})?( (to|±) [\d,]+(\.\d+)?( ?%)?)?$/

export function asText(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'plot') return []
    if (block.kind === 'table') return [...textTable(block), '']
    const text = shown(block.text, 2_000)
    if (block.kind === 'title') return [text, '']
    if (block.kind === 'heading') return [text, '-'.repeat(text.length)]
    return [text, '']
  })
}

function textTable({ head, rows }: Extract<Block, { kind: 'table' }>): string[] {
  const cells = [head, ...rows.map((row) => row.map((cell) => shown(cell)))]
  const widths = head.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? '').length)))
  const isNumber = head.map((_, i) => rows.length > 0 && rows.every((row) => isRight(row[i])))
  return cells.map((row) =>
    row
      .map((cell, i) => {
        const width = widths[i] as number
        return isNumber[i] ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

function isRight(cell: string | undefined): boolean {
  return cell === '' || cell === '-' || NUMBER.test(cell ?? '')
}

export function asMarkdown(blocks: readonly Block[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'plot') return []
    if (block.kind === 'title') return [`## ${markdown(block.text)}`, '']
    if (block.kind === 'heading') return [`### ${markdown(block.text)}`, '']
    if (block.kind === 'text') return [markdown(block.text), '']
    const { head, rows } = block
    const isNumber = head.map((_, i) => rows.length > 0 && rows.every((row) => isRight(row[i])))
    const line = (row: Row): string => `| ${row.map(markdown).join(' | ')} |`
    return [
      line(head),
      `|${isNumber.map((is) => (is ? '---:|' : '---|')).join('')}`,
      ...rows.map(line),
      '',
    ]
  })
}

/** Escapes a text, so that no part of it becomes markup, a link or a mention. */
function markdown(text: string): string {
  return shown(text, 2_000)
    .replace(/[\\`*_{}[\]<>|#~]/g, (one) => `\\${one}`)
    .replace(/@/g, '&#64;')
    .replace(/:\/\//g, ':&#47;&#47;')
}

export function asHtml(blocks: readonly Block[]): string {
  const title = blocks.find(({ kind }) => kind === 'title')
  const text = title?.kind === 'title' ? title.text : 'weir'
  const body = blocks.map(htmlOf).join('\n')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(text)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
}

function htmlOf(block: Block): string {
  if (block.kind === 'plot') return block.svg
  if (block.kind === 'title') return `<h1>${escaped(block.text)}</h1>`
  if (block.kind === 'heading') return `<h2>${escaped(block.text)}</h2>`
  if (block.kind === 'text') return `<p>${escaped(block.text)}</p>`
  const { head, rows } = block
  const isNumber = head.map((_, i) => rows.length > 0 && rows.every((row) => isRight(row[i])))
  const cells = (row: Row, tag: string): string =>
    row
      .map((cell, i) => `<${tag}${isNumber[i] ? ' class="n"' : ''}>${escaped(cell)}</${tag}>`)
      .join('')
  const all = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<div class="wide"><table>
<thead><tr>${cells(head, 'th')}</tr></thead>
<tbody>
${all}
</tbody>
</table></div>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for HTML, including attributes. */
export function escaped(text: string): string {
  return shown(text, 2_000).replace(/[&<>"']/g, (one) => ENTITIES[one] as string)
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5d6873; --line: #d5dae0; --page: #fff;
  --all: #9db4cc; --bad: #c4382b; --good: #2a6fb0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e8ed; --dim: #9aa6b2; --line: #363f48; --page: #14181c;
    --all: #47617c; --bad: #f0776b; --good: #6db3f2 }
}
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: .5rem 0; overflow-wrap: anywhere }
.wide { overflow-x: auto; margin: .75rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line);
  min-width: 3rem }
td:not(.n) { overflow-wrap: anywhere }
th { color: var(--dim); font-weight: 600 } .n { text-align: right }
figure { margin: 1rem 0 } figcaption { color: var(--dim) }
svg { width: 100%; height: auto; display: block }
svg text { fill: var(--dim); font: 11px system-ui, sans-serif }
.all { fill: var(--all) } .bad { fill: var(--bad) } .axis { stroke: var(--line) }
.curve { fill: none; stroke: var(--good); stroke-width: 2 }
.mark { stroke: var(--bad); stroke-dasharray: 4 3 } .dot { fill: var(--good) }
`.replace(/\n\s*/g, ' ')
