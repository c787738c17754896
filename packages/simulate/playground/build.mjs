// Writes dist/index.html: one traffic under every algorithm, decided by the real kernels in the
// browser. The page is one file, with its script and style inside, and a Content-Security-Policy
// that allows these two and no connection. For tests this is a globalSetup of vitest; as a program,
// it prints where the page is.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const folder = fileURLToPath(new URL('.', import.meta.url))
const read = (file) => readFileSync(`${folder}src/${file}`, 'utf8')

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await setup()
  console.log(`playground: file://${folder}dist/index.html`)
}

export async function setup() {
  const script = await scriptOf('main.ts')
  const style = read('page.css').trim()
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const parts = {
    policy: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    style: `<style>${style}</style>`,
    script: `<script>${script}</script>`,
  }
  const page = read('page.html').replace(/<!-- (\w+) -->/g, (_, name) => parts[name])

  rmSync(`${folder}dist`, { recursive: true, force: true })
  mkdirSync(`${folder}dist`)
  writeFileSync(`${folder}dist/index.html`, page)
}

/** The script with all its imports, in a form that runs at once. */
async function scriptOf(entry) {
  const build = await rolldown({
    input: `${folder}src/${entry}`,
    platform: 'browser',
    treeshake: { moduleSideEffects: false },
    resolve: {
      conditionNames: ['module', 'import', 'default'],
      extensionAlias: { '.js': ['.ts', '.js'] },
    },
    onLog(_level, log, handle) {
      // Parts of a package that need Node are left out; otherwise they would be imported below.
      if (log.code !== 'UNRESOLVED_IMPORT') handle('error', log)
    },
    external: /^node:/,
  })
  const { output } = await build.generate({ format: 'iife', minify: true })
  const [{ code, imports }, ...others] = output
  if (imports.length > 0) throw new Error(`the page would import ${imports.join(', ')}`)
  if (others.length > 0) throw new Error('the page would be of several files')
  // Neither text may end the element, nor begin a comment in it.
  return code.trim().replaceAll('</', '<\\/').replaceAll('<!--', '<\\!--')
}

function hashOf(text) {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
