// One key is damaged; the server is well.
import type { Reply } from '@weir/testkit'
import { countAtLeast, countAtMost, exactly, msAtMost } from '../checks.js'
import { longestDenial } from '../figures.js'
import { KEY, load, ofKey, type Run, underFault, WINDOW_MS } from '../outage.js'
import type { Row } from '../row.js'
import { admitted, degradedAtMost, sane } from '../verdicts.js'

const SPOILT = KEY
const OTHER = 'bob'
const LATE_MS = 250

export const foreignValue: Row = {
  number: '14',
  fault: 'WRONGTYPE on one key',
  must: 'that key local, event; other keys untouched; foreign data not overwritten',
  async run(stage, length) {
    const server = await stage.redis()
    const job = load(server.port, { keys: [SPOILT, OTHER] })
    let key = ''
    const fault = {
      async begin(): Promise<void> {
        key = await keyOf(server, SPOILT)
        // In one step, since the load writes the key again as soon as it is deleted.
        const spoil = "redis.call('DEL', KEYS[1]) redis.call('RPUSH', KEYS[1], 'foreign')"
        await server.command('EVAL', spoil, 1, key)
      },
      end(): void {},
    }
    const run = await underFault(stage, { ...length, afterMs: 500 }, [job], fault)
    const kept = JSON.stringify(await server.command('LRANGE', key, 0, -1)) === '["foreign"]'
    return [
      degradedAtMost(ofKey(run, OTHER), 0, 'other key degraded'),
      exactly('foreign data kept', kept ? 1 : 0, 1),
      countAtMost('breaker opened', openings(run), 0),
      countAtLeast(
        'events',
        run.reports[0]?.events.filter(({ name }) => name === 'key-error').length ?? 0,
        1,
      ),
      { ...admitted(ofKey(run, SPOILT)), what: 'admitted, spoilt key' },
      ...sane(run),
    ]
  },
}

export const noTtl: Row = {
  number: '15',
  fault: 'key without TTL',
  must: 'heal within one window',
  async run(stage, length) {
    const server = await stage.redis()
    let ttl = 0
    const fault = {
      async begin(): Promise<void> {
        await server.command('PERSIST', await keyOf(server, SPOILT))
      },
      async end(): Promise<void> {
        ttl = Number(await server.command('PTTL', await keyOf(server, SPOILT)))
      },
    }
    const run = await underFault(stage, { ...length, afterMs: 500 }, [load(server.port)], fault)
    return [
      msAtMost('longest denial', longestDenial(run.samples), WINDOW_MS + LATE_MS),
      countAtLeast('TTL after the fault, ms', ttl, 1),
      ...sane(run),
    ]
  },
}

/** The only key in Redis that counts for a user. */
async function keyOf(
  server: { command(...args: string[]): Promise<Reply> },
  user: string,
): Promise<string> {
  const found = (await server.command('KEYS', `*{${user}}*`)) as readonly string[]
  // A refund, for example from a lease, has left a mark.
  const keys = found.filter((key) => !key.endsWith(':mark'))
  if (keys.length !== 1) throw new Error(`${keys.length} keys for ${user}: ${keys.join(' ')}`)
  return keys[0] as string
}

function openings({ reports }: Run): number {
  return reports.flatMap(({ transitions }) => transitions).filter(({ state }) => state === 'open')
    .length
}
