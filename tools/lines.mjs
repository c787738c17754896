// Lines of code in packages/core/src, by room: TypeScript and Lua without comments, blank lines and
// what is generated.
//
//   node tools/lines.mjs [folder]     folder: another copy of packages/core/src
//
// The total leaves out http/ and testing/, as the bound on the size of the core does.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importFromCore } from './load-ts.mjs'

const { parseSync } = await importFromCore('vite')
const { parse } = (await importFromCore('luaparse')).default
const src = process.argv[2] ?? fileURLToPath(new URL('../packages/core/src', import.meta.url))
const APART = ['http', 'testing']

const rooms = new Map()
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
for (const file of files.sort()) {
  const language = extname(file)
  if (!['.ts', '.lua'].includes(language) || file.includes('.generated.')) continue
  const room = file.includes('/') ? file.slice(0, file.indexOf('/')) : '(top)'
  const lines = linesOf(file, readFileSync(join(src, file), 'utf8'))
  const counts = rooms.get(room) ?? { files: 0, '.ts': 0, '.lua': 0 }
  rooms.set(room, { ...counts, files: counts.files + 1, [language]: counts[language] + lines })
}
const total = { files: 0, '.ts': 0, '.lua': 0 }
for (const [room, counts] of rooms) {
  if (APART.includes(room)) continue
  for (const key of Object.keys(total)) total[key] += counts[key]
}

console.log(row('', 'files', 'TypeScript', 'Lua', 'lines'))
for (const [room, counts] of [...rooms, [`without ${APART.join(', ')}`, total]])
  console.log(
    row(room, counts.files, counts['.ts'], counts['.lua'], counts['.ts'] + counts['.lua']),
  )

function row(first, ...cells) {
  return first.padEnd(24) + cells.map((cell) => String(cell).padStart(12)).join('')
}

/** Lines that have anything but comments. */
function linesOf(file, text) {
  let code = text
  for (const [start, end] of commentsOf(file, text))
    code = code.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, ' ') + code.slice(end)
  return code.split('\n').filter((line) => line.trim() !== '').length
}

function commentsOf(file, text) {
  if (file.endsWith('.ts'))
    return parseSync(file, text).comments.map(({ start, end }) => [start, end])
  return parse(text, { luaVersion: '5.1', comments: true, ranges: true }).comments.map(
    ({ range }) => range,
  )
}
