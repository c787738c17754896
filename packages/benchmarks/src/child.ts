// Processes of their own: so that a heap, or a server's CPU time, is one subject's.

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts what is built, whether this runs from what is built or, in tests, from the sources. */
export function startChild(entry: string, job: object, execArgv: readonly string[] = []): ChildProcess {
  const file = fileURLToPath(new URL(`../dist/${entry}`, import.meta.url))
  return fork(file, [JSON.stringify(job)], {
    execArgv: [...execArgv],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

/** The next message. Rejects if the process ends before. */
export function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`a process has ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (message) => {
      child.off('exit', ended)
      resolve(message as Message)
    })
  })
}
