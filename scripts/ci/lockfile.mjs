// Checks that pnpm-lock.yaml names packages by version and hash only, without download addresses.
import { readFileSync } from 'node:fs'

const lines = readFileSync(new URL('../../pnpm-lock.yaml', import.meta.url), 'utf8').split('\n')
const named = lines.flatMap((line, i) => (line.includes('tarball:') ? [`${i + 1}: ${line}`] : []))
if (named.length > 0) {
  console.error(`pnpm-lock.yaml names download addresses; make it anew:\n${named.join('\n')}`)
  process.exitCode = 1
}
