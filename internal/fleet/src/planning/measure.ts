// The inputs of the planning simulation, measured on this machine with a real server.

import { cpus } from 'node:os'
import { startRedis } from '@weir/testkit'
import type { Inputs } from './inputs.js'
import { measureClient } from './measure-client.js'
import { measureServer } from './measure-server.js'
import { measureMemory } from './memory.js'

/** All rounds together take about a minute and a half. */
const ROUNDS = 3
const SERVER_TURN_MS = 300
const CLIENT_TURN_MS = 300

export async function measure(tell: (what: string) => void): Promise<Inputs> {
  tell('measuring what calls cost Redis')
  const server = await measureServer(ROUNDS, SERVER_TURN_MS)
  tell('measuring what decisions cost a process')
  const { client, aloneUs } = await measureClient(ROUNDS, CLIENT_TURN_MS)
  tell('measuring memory')
  const memory = await measureMemory()
  // The rest of the time of a decision that comes alone.
  const { wakeUs, restedUs, readUs, callUs, keyUs, changeUs } = server
  const serverUs = wakeUs + restedUs + readUs + callUs + keyUs + changeUs
  const processUs = client.writeUs + client.callUs + client.keyUs + client.decisionUs
  const wayUs = Math.max(0, (aloneUs - serverUs - processUs) / 2)
  return { on: await machine(), server, client, wayUs, memory }
}

async function machine(): Promise<Inputs['on']> {
  const redis = await startRedis()
  try {
    const info = String(await redis.command('INFO', 'server'))
    const version = /(?:valkey|redis)_version:(\S+)/.exec(info)?.[1] ?? '?'
    return { cores: cpus().length, node: process.versions.node, redis: version }
  } finally {
    await redis.stop()
  }
}
