// Finds Prometheus and promtool for the tests, or fetches them: those on PATH, else what was
// unpacked into .cache, else the package of Debian or Ubuntu, unpacked there without root. Run as a
// command, it prints the folder of both, alone on its last line.
import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { isDebian, unpack, unpackedFolder } from './debian.mjs'
import { answers } from './once.mjs'

const PROGRAMS = ['prometheus', 'promtool']

/** @returns {string} a folder with `prometheus` and `promtool`, both of which have been run once */
export function prometheusFolder() {
  const onPath = (process.env.PATH ?? '').split(delimiter)
  const folder = unpackedFolder('prometheus')
  const known = [...onPath, folder].find(runs)
  if (known !== undefined) return known
  const right = 'put prometheus and promtool, 2.42 or later, on PATH'
  if (!isDebian())
    throw new Error(`no Prometheus found; the tests run against a real one: ${right}`)
  const launchers = PROGRAMS.map((name) => [name, `usr/bin/${name}`])
  unpack(folder, ['prometheus'], Object.fromEntries(launchers), () => runs(folder))
  if (!runs(folder))
    throw new Error(`Prometheus was fetched into ${folder}, and does not run: ${right}`)
  return folder
}

function runs(folder) {
  return PROGRAMS.every((name) => {
    return folder !== '' && spawnSync(join(folder, name), ['--version']).status === 0
  })
}

answers(import.meta.url, prometheusFolder)
