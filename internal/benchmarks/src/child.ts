// Child processes, so that a heap, or a server's CPU time, belongs to one subject.

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built files, whether this runs from them or, in tests, from the sources. */
export const BUILT: string = fileURLToPath(new URL('../dist', import.meta.url))

export function startChild(
  entry: string,
  job: object,
  execArgv: readonly string[] = [],
  built: string = BUILT,
): ChildProcess {
  return fork(join(built, entry), [JSON.stringify(job)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** Resolves to the next message. Rejects if the process ends before. */
export function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void =>
      reject(new Error(`a process has ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as Message)
    })
  })
}

/** Lets the process end by itself, or ends it after a while. */
export function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
    child.once('exit', () => {
      clearTimeout(timer)
      resolve()
    })
    if (child.connected) child.disconnect()
  })
}

/** Runs `work` with a process for each job, which reports when it is ready, and ends with `work`.
 *  @param built the built files that each runs */
export async function withChildren<Result>(
  entry: string,
  jobs: readonly object[],
  work: (children: readonly ChildProcess[]) => Promise<Result>,
  built: readonly string[] = [],
): Promise<Result> {
  const children = jobs.map((job, i) => startChild(entry, job, [], built[i]))
  try {
    await Promise.all(children.map((child) => nextMessage(child)))
    return await work(children)
  } finally {
    await Promise.all(children.map(endChild))
  }
}
