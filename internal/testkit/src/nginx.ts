// A real nginx, with its own port and folder, which always ends with the process that started it.

import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { askFinder } from './binary.js'
import { startGuarded } from './guarded.js'
import { freePort } from './ports.js'
import { waitUntil } from './wait.js'

export interface Nginx {
  /** Without a slash at its end. */
  readonly url: string
  /** Ends nginx at once and removes its folder. */
  stop(): Promise<void>
}

let binary: string | undefined

/** Temporary files that nginx writes outside its folder unless the configuration names a place. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** @param locations the `location` blocks of its server; everything else is nginx's default */
export async function startNginx(locations: string): Promise<Nginx> {
  binary ??= askFinder('nginx')
  const folder = await mkdtemp(join(tmpdir(), 'weir-nginx-'))
  const port = await freePort()
  const config = `
    daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
    events {}
    http {
      access_log off;
      ${TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      server { listen 127.0.0.1:${port}; ${locations} }
    }`
  await writeFile(join(folder, 'nginx.conf'), config)
  const args = ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'nginx.conf')]
  const server = startGuarded(binary, args, folder)
  const url = `http://127.0.0.1:${port}`
  await waitUntil('nginx', async () => {
    if (server.hasEnded()) throw new Error(`nginx has ended:\n${server.log()}`)
    await fetch(url)
    return true
  })
  return { url, stop: () => server.stop() }
}
