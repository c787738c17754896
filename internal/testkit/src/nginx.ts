// A real nginx, on a port and in a folder of its own, sure to end with the process that started it.

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
  /** Ends it at once and removes its folder. */
  stop(): Promise<void>
}

let binary: string | undefined

/** Files that are written elsewhere unless it is said where. */
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** @param locations what its server has, as nginx.conf says it; all else is as nginx comes */
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
