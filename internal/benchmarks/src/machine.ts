// Describes the machine of a report.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { otherServer, type RedisServer, serverBinary } from '@weir/testkit'
import { onRedis } from './redis/stage.js'

const MEASURED = [
  ...['ioredis', 'rate-limiter-flexible', 'express-rate-limit', 'rate-limit-redis'],
  ...[
    'koa-ratelimit',
    '@nestjs/throttler',
    '@nest-lab/throttler-storage-redis',
    '@fastify/rate-limit',
  ],
  ...['express', 'koa'],
]

/** The description includes the load average, which shows whether something else was running. */
export async function machine(command: string, onValkey: boolean): Promise<string> {
  const [processor] = cpus()
  const used = [serverBinary(), ...(onValkey ? [otherServer('valkey', 'newest')] : [])]
  const servers = await Promise.all(used.map((binary) => onRedis([], titleOf, binary)))
  const load = loadavg().map((value) => value.toFixed(1))
  return [
    `Measured ${new Date().toISOString().slice(0, 10)} by \`${command}\` on ${cpus().length} cores (${processor?.model.trim()}),`,
    `load average ${load.join(', ')} at the end; Node ${process.version}, ${servers.join(' and ')} on loopback without persistence;`,
    `${MEASURED.map((name) => `${name} ${versionOf(name)}`).join(', ')}.`,
  ].join(' ')
}

/** Its name and version. */
export async function titleOf(server: RedisServer): Promise<string> {
  const info = String(await server.command('INFO', 'server'))
  const of = (name: string): string | undefined =>
    new RegExp(`${name}_version:(\\S+)`).exec(info)?.[1]
  const valkey = of('valkey')
  return valkey === undefined ? `Redis ${of('redis')}` : `Valkey ${valkey}`
}

/** Reads the manifest, which some packages do not let one import. */
function versionOf(name: string): string {
  let folder = dirname(createRequire(import.meta.url).resolve(name))
  for (; folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      if (manifest.name === name) return manifest.version
    } catch {
      // No manifest here; there is one in a parent folder.
    }
  }
  return '?'
}
