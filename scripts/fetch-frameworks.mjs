// Makes an application of each framework of docs/fetch.md in an empty folder, with the snippets of
// that page and the packed packages, builds it, and sends it requests. Needs a build.
//
//   node scripts/fetch-frameworks.mjs [next sveltekit astro elysia]
import { strict as assert } from 'node:assert'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newestNode, nodeBinary } from '../internal/testkit/servers/node.mjs'
import { redisServerBinary } from '../internal/testkit/servers/redis.mjs'
import { packAll } from '../tools/release/pack.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The limits of the page are larger. */
const page = readFileSync(join(root, 'docs/fetch.md'), 'utf8')
  .replaceAll('limit: 100', 'limit: 2')
  .replace('limit: 3', 'limit: 1')
const blocks = [...page.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)].map(([, text]) => text)
const [proxy, nextParts, others] = ['function proxy', 'function comment', '// SvelteKit'].map(
  (part) => blocks.find((text) => text.includes(part)),
)
const [imports, route, action] = nextParts.split('\n\n')
/** By their first words, such as "SvelteKit" of "// SvelteKit, src/hooks.server.ts". */
const other = Object.fromEntries(
  others.split(/^\/\/ (?=\w+, )/m).map((text) => [/^\w*/.exec(text)[0], text.replace(/^.*\n/, '')]),
)
const limiter = blocks[0].replace(/^const handler[\s\S]*/m, '')

const STORE = `import { recommendedRedisOptions, redisStore } from '@weir/fetch'
import { Redis } from 'ioredis'
const port = Number(process.env.REDIS_PORT)
export const store = redisStore(new Redis({ ...recommendedRedisOptions, port }))
`
const FORM = `import { redirect } from 'next/navigation'
import { comment } from './comments'
export default function Page() {
  async function post(form: FormData) {
    'use server'
    redirect('/api/said?' + encodeURIComponent(await comment(String(form.get('text')))))
  }
  return <form action={post}><input name="text" /></form>
}
`
const own = (text) => text.replace(/^const store = .*\n/m, '')
const DONE = "export const GET = () => new Response('done')\n"
const FROM = { 'x-real-ip': '203.0.113.7' }

const FRAMEWORKS = {
  next: {
    packages: [
      'next@16',
      'react@19',
      'react-dom@19',
      'ioredis@6',
      'typescript@5.9',
      '@types/react@19',
      '@types/node',
    ],
    files: {
      'store.ts': STORE,
      'proxy.ts': `import { store } from './store'\n${own(proxy)}`,
      'app/layout.tsx':
        'export default ({ children }: any) => <html lang="en"><body>{children}</body></html>\n',
      'app/page.tsx': FORM,
      'app/comments.ts': `'use server'\nimport { store } from '../store'\n${imports}\n${action}`,
      'app/api/search/route.ts': `import { store } from '../../../store'\n${imports}\n${route}`,
      'app/api/said/route.ts': DONE,
    },
    build: ['next', 'build'],
    start: (port) => ['next', 'start', '-H', '127.0.0.1', '-p', port],
    async check(url) {
      await limits(`${url}/`, 2, FROM)
      await limits(`${url}/api/search`, 10, FROM)
      assert.deepEqual(await comments(url), ['posted hello', 'Wait 3600 s.'])
    },
  },
  sveltekit: {
    packages: [
      '@sveltejs/kit@3',
      '@sveltejs/adapter-node@6',
      '@sveltejs/vite-plugin-svelte@7',
      'svelte@5',
      'typescript@6',
      'vite@8',
    ],
    files: {
      'vite.config.js': `import adapter from '@sveltejs/adapter-node'
import { sveltekit } from '@sveltejs/kit/vite'
export default { plugins: [sveltekit({ adapter: adapter() })] }\n`,
      'src/app.html': '<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
      'src/hooks.server.ts': `${limiter}${other.SvelteKit}`,
      'src/routes/+server.ts': DONE,
    },
    build: ['vite', 'build'],
    start: () => ['build'],
    check: (url) => limits(url, 2),
  },
  astro: {
    packages: ['astro@7', '@astrojs/node@11'],
    files: {
      'astro.config.mjs': `import node from '@astrojs/node'
export default { output: 'server', adapter: node({ mode: 'standalone' }) }\n`,
      'src/middleware.ts': `${limiter}${other.Astro}`,
      'src/pages/index.ts': DONE,
    },
    build: ['astro', 'build'],
    start: () => ['dist/server/entry.mjs'],
    check: (url) => limits(url, 2),
  },
  elysia: {
    packages: ['elysia@1', 'bun@1'],
    files: {
      'app.ts': `import { Elysia } from 'elysia'
${limiter}const app = new Elysia().get('/', () => 'done')\n${other.Elysia}`,
    },
    start: () => ['bun', 'app.ts'],
    check: (url) => limits(url, 2),
  },
}

const quietly = ['ignore', 'ignore', 'inherit']
const node = nodeBinary(newestNode())
const PATH = `${dirname(node)}${delimiter}${process.env.PATH}`
const work = mkdtempSync(join(tmpdir(), 'weir-frameworks-'))
const REDIS_PORT = await freePort()
const redis = spawn(redisServerBinary(), ['--port', REDIS_PORT, '--save', ''], { stdio: 'ignore' })
try {
  const tarballs = packAll(root, work)
    .map(({ tarball }) => tarball)
    .filter((tarball) => /weir-(core|fetch)-[^/]*$/.test(tarball))
  const wanted = process.argv.slice(2)
  for (const [name, framework] of Object.entries(FRAMEWORKS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    await tried(name, framework, tarballs)
    console.log(`${name}: limited as docs/fetch.md says`)
  }
} finally {
  redis.kill('SIGKILL')
  rmSync(work, { recursive: true, force: true })
}

async function tried(name, { packages, files, build, start, check }, tarballs) {
  const cwd = join(work, name)
  const manifest = { name, private: true, type: 'module' }
  for (const [file, text] of Object.entries({
    'package.json': JSON.stringify(manifest),
    ...files,
  })) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true })
    writeFileSync(join(cwd, file), text)
  }
  const port = await freePort()
  const env = { ...process.env, PATH, REDIS_PORT, PORT: port, HOST: '127.0.0.1' }
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const run = (command, ...args) => execFileSync(command, args, { cwd, env, stdio: quietly })
  run('npm', 'install', ...quiet, ...tarballs, ...packages)
  if (build !== undefined) run('npx', ...build)
  const [command, ...args] = start(port)
  const isProgram = /[./]|^build$/.test(command)
  const bin = isProgram ? node : join(cwd, 'node_modules/.bin', command)
  const child = spawn(bin, isProgram ? [command, ...args] : args, { cwd, env, stdio: quietly })
  const closed = once(child, 'close')
  try {
    const url = `http://127.0.0.1:${port}`
    const ended = closed.then(() => assert.fail(`${name} has ended`))
    await Promise.race([ended, listens(port).then(() => check(url))])
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}

/** All requests are from one address. */
async function limits(url, limit, headers = {}) {
  for (let left = limit - 1; left >= 0; left -= 1) {
    const response = await fetch(url, { headers })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('ratelimit'), new RegExp(`;r=${left};`))
  }
  const { status, headers: refused } = await fetch(url, { headers })
  assert.equal(status, 429)
  assert.equal(refused.get('content-type'), 'application/problem+json')
  assert.ok(Number(refused.get('retry-after')) > 0)
}

/** Posts two comments by a form, as a browser without JavaScript does. */
async function comments(url) {
  const html = await (await fetch(url, { headers: { 'x-real-ip': '203.0.113.8' } })).text()
  const [, id] = /name="(\$ACTION_ID_\w+)"/.exec(html)
  const body = new FormData()
  body.set(id, '')
  body.set('text', 'hello')
  const headers = { 'x-real-ip': '203.0.113.9', origin: url }
  const said = []
  for (let i = 0; i < 2; i += 1) {
    const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual' })
    said.push(decodeURIComponent(response.headers.get('location')?.split('?')[1]))
  }
  return said
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return `${port}`
}

async function listens(port) {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch {
      await setTimeout(50)
    } finally {
      socket.destroy()
    }
  }
}
