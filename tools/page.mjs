// Builds the page that a package serves into ordinary TypeScript, so that nothing reads files at
// run time: src/page/main.ts with all its imports, the styles of src/page/style and of the chart
// library, and index.html become src/page/assets.generated.ts, which git ignores.
//
//   node ../../tools/page.mjs            run in the folder of the package
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const page = resolve('src/page')
const { resolve: find } = createRequire(import.meta.url)
const charts = dirname(find('uplot/package.json'))

const html = readFileSync(join(page, 'index.html'), 'utf8')
const assets = {
  'index.html': { type: 'text/html; charset=utf-8', body: withoutIndents(html) },
  'app.js': { type: 'text/javascript; charset=utf-8', body: await script() },
  'app.css': { type: 'text/css; charset=utf-8', body: styles() },
}
writeIfChanged(join(page, 'assets.generated.ts'))
for (const [name, { body }] of Object.entries(assets))
  console.log(`${name}: ${Buffer.byteLength(body)} bytes, ${gzipSync(body).length} compressed`)

async function script() {
  const build = await rolldown({
    input: join(page, 'main.ts'),
    platform: 'browser',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    tsconfig: join(page, 'tsconfig.json'),
  })
  const { output } = await build.generate({ format: 'es', minify: true, comments: false })
  await build.close()
  if (output.length !== 1) throw new Error(`the page is ${output.length} files; it can be only one`)
  return `/*! With uPlot.\n${readFileSync(join(charts, 'LICENSE'), 'utf8').trim()}\n*/\n${output[0].code}`
}

/** The library's style comes first, so that ours can override it. */
function styles() {
  const folder = join(page, 'style')
  const ours = ['base.css', 'layout.css', 'parts.css']
  const others = readdirSync(folder).filter((name) => !ours.includes(name))
  if (others.length > 0) throw new Error(`tools/page.mjs has no place for ${others.join(', ')}`)
  const library = readFileSync(join(charts, 'dist/uPlot.min.css'), 'utf8')
  const texts = ours.map((name) => readFileSync(join(folder, name), 'utf8'))
  return [withoutUnused(library), ...texts].map(compact).join('\n')
}

/** The library's style without what the page does not show: its title, its legend, points under the
 *  pointer, and text outside of the canvas. */
function withoutUnused(css) {
  const isUnused = (selector) => /\.u-(title|legend|inline|series|cursor-pt)\b/.test(selector)
  return css
    .replace(/([^{}]*)\{[^{}]*\}/g, (rule, list) => (list.split(',').every(isUnused) ? '' : rule))
    .replace(/font-family:[^;]*;/, '')
}

/** Removes comments and insignificant white space from a style. */
function compact(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .replace(/: /g, ':')
    .replace(/;\}/g, '}')
    .trim()
}

function withoutIndents(text) {
  return text.replace(/^\s+/gm, '')
}

/** Leaves an unchanged file untouched: its time stamp stays, and no watcher or cache reacts. */
function writeIfChanged(path) {
  const type = `Readonly<Record<'index.html' | 'app.js' | 'app.css', { readonly type: string; readonly body: string }>>`
  const text = `// Written by tools/page.mjs. Do not edit.\nexport const ASSETS: ${type} = ${JSON.stringify(assets, undefined, 2)}\n`
  try {
    if (readFileSync(path, 'utf8') === text) return
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  writeFileSync(path, text)
}
