// What git knows about a repository, as values.
import { spawnSync } from 'node:child_process'

/**
 * The output of a git command, without the last line break.
 * @param {string} root
 * @param {readonly string[]} args
 * @returns {string}
 */
export function git(root, ...args) {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`)
  return stdout.replace(/\n$/, '')
}

/**
 * @param {string} root
 * @param {readonly string[]} args
 * @returns {string[]} the lines of the output
 */
export function gitLines(root, ...args) {
  return git(root, ...args)
    .split('\n')
    .filter((line) => line !== '')
}
