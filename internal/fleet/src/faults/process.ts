// The runner's side of a client process.
import { type ChildProcess, fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import { builtFrom } from '../places/places.js'
import type {
  Closing,
  Flood,
  FromClient,
  Job,
  Log,
  Recovered,
  Stop,
  ToClient,
} from './client/protocol.js'
import { now } from './client/time.js'

/** Everything that a client process reported, and how it ended. */
export interface Report extends Log {
  readonly closing: Closing | undefined
  readonly exitCode: number | null
  readonly exitSignal: NodeJS.Signals | null
  /** From its last action until it had ended. */
  readonly exitMs: number
  /** The lines of its standard output and error. */
  readonly lines: readonly string[]
}

export interface ClientProcess {
  /** Resolves when its load runs. */
  readonly started: Promise<void>
  peek(): Promise<readonly number[]>
  flood(): Promise<Flood>
  recover(): Promise<Recovered>
  /** Lets it finish, and waits until it has ended; kills it if it does not end by itself. */
  stop(message?: Partial<Stop>): Promise<Report>
}

/** Loading the modules takes a while on a busy machine, and Redis may come late. */
const START_MS = 20_000
/** iovalkey gives a hung connection 4 s to end. */
const EXIT_MS = 6_000
/** How long to wait for outstanding answers when the load ends. A request that needs more hangs. */
const DRAIN_MS = 3_000

const entry = builtFrom('faults/client/main')

export function startClient(job: Job): ClientProcess {
  const execArgv = job.flood === undefined ? [] : ['--expose-gc']
  const child = fork(entry, [], {
    serialization: 'advanced',
    execArgv,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface(stream).on('line', (line) => lines.push(line))
  }
  // An error of a message to a process that has ended; its end is noticed elsewhere.
  child.on('error', () => {})
  const logs: Log[] = []
  child.on('message', (message: FromClient) => {
    if (message.is === 'log') logs.push(message.log)
  })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const ask = async <K extends FromClient['is']>(
    message: ToClient,
    is: K,
    withinMs: number,
  ): Promise<Answer<K>> => {
    const answer = answerOf(child, is)
    child.send(message)
    const gone = exited.then(() => undefined)
    const told = await within(withinMs, Promise.race([answer, gone]))
    if (told === undefined)
      throw new Error(`a client process did not answer '${message.do}':\n${lines.join('\n')}`)
    return told
  }

  async function stop(message: Partial<Stop> = {}): Promise<Report> {
    await started.catch(() => child.kill('SIGKILL'))
    const told = await ask({ do: 'stop', drainMs: DRAIN_MS, ...message }, 'closed', START_MS).catch(
      () => undefined,
    )
    const begun = now()
    await within(EXIT_MS, exited)
    const exitMs = now() - begun
    child.kill('SIGKILL')
    const { code, signal } = await exited
    return {
      ...merged(logs),
      closing: told?.closing,
      exitCode: code,
      exitSignal: signal,
      exitMs,
      lines,
    }
  }

  const started = ask({ do: 'start', job }, 'started', START_MS).then(() => {})
  return {
    started,
    peek: async () => (await ask({ do: 'peek' }, 'peeked', START_MS)).remaining,
    flood: async () => (await ask({ do: 'flood' }, 'flooded', 300_000)).flood,
    recover: async () => (await ask({ do: 'recover' }, 'recovered', 120_000)).recovered,
    stop,
  }
}

type Answer<K extends FromClient['is']> = Extract<FromClient, { is: K }>

function answerOf<K extends FromClient['is']>(child: ChildProcess, is: K): Promise<Answer<K>> {
  return new Promise((resolve) => {
    const listen = (message: FromClient): void => {
      if (message.is !== is) return
      child.off('message', listen)
      resolve(message as Answer<K>)
    }
    child.on('message', listen)
  })
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([promise, timeUp])
  } finally {
    clearTimeout(timer)
  }
}

function merged(logs: readonly Log[]): Log {
  return {
    samples: logs.flatMap(({ samples }) => samples),
    stalls: logs.flatMap(({ stalls }) => stalls),
    transitions: logs.flatMap(({ transitions }) => transitions),
    events: logs.flatMap(({ events }) => events),
    crashes: logs.flatMap(({ crashes }) => crashes),
    rejections: logs.flatMap(({ rejections }) => rejections),
    warnings: logs.flatMap(({ warnings }) => warnings),
  }
}
