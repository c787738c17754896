// What the finders of programs share: a folder that many processes and threads may ask for at the
// same time, and that one of them makes; and how a finder answers as a command.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Makes a folder, unless it is whole or becomes so while another one makes it. It gets its name
 * when it is whole, and is never replaced after that.
 * @param {string} to the folder
 * @param {() => boolean} isWhole
 * @param {(folder: string) => void} fill fills an empty folder, which then gets the name
 */
export function once(to, isWhole, fill) {
  if (isWhole()) return
  alone(to, () => {
    if (isWhole()) return
    const part = `${to}.part`
    // What was left by one that was killed.
    rmSync(part, { recursive: true, force: true, maxRetries: 5 })
    mkdirSync(part)
    try {
      fill(part)
      rmSync(to, { recursive: true, force: true })
      renameSync(part, to)
    } finally {
      rmSync(part, { recursive: true, force: true })
    }
  })
}

/**
 * Runs an action while nobody else runs one of the same name; waits until then. The lock is the
 * kernel's, on an open file: it ends with the process, even when that is killed.
 * @param {string} name a path; the lock is a file beside it
 * @param {() => void} action
 */
export function alone(name, action) {
  mkdirSync(dirname(name), { recursive: true })
  const lock = openSync(`${name}.lock`, 'w')
  // flock(1) locks what descriptor 3 refers to, which this process keeps open.
  const isLocked = (...options) =>
    spawnSync('flock', [...options, '3'], { stdio: ['ignore', 'ignore', 'inherit', lock] })
      .status === 0
  try {
    if (!isLocked('--nonblock')) {
      say(`waiting for another process, which fetches ${basename(name)}`)
      if (!isLocked()) throw new Error(`could not lock ${name}.lock with flock(1)`)
    }
    action()
  } finally {
    closeSync(lock)
  }
}

/**
 * Prints the answer of a finder, if its file is the command that runs.
 * @param {string} url of the file
 * @param {(...args: string[]) => string} finder gets the arguments of the command
 */
export function answers(url, finder) {
  const [, command, ...args] = process.argv
  if (!command || realpathSync(command) !== fileURLToPath(url)) return
  try {
    console.log(finder(...args))
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}

/** To stderr, which callers show at once: on stdout a finder answers. */
export function say(text) {
  console.error(`weir: ${text}`)
}
