// A changed copy of the present version, which is incompatible with it.

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporary } from './release.js'
import { presentFolder, type Version, versionIn } from './version.js'

type Replacement = readonly [from: RegExp, to: string]

/** Other stored forms, and another rounding, each without a new id of the kernel. */
export const CHANGES: Readonly<Record<string, readonly Replacement[]>> = {
  'a bucket that stores its time a tick later': [
    [/(@?stored) = tonumber\(raw\)/g, '$1 = raw and tonumber(raw) - 1'],
    [/raw == format\('%d', (@?stored)\)/g, "raw == format('%d', $1 + 1)"],
    [/'SET', (@?key), format\('%d', (@?tat)\)/g, "'SET', $1, format('%d', $2 + 1)"],
  ],
  'a fixed window that stores its end before its count': [
    [/(@?stored), (@?ends) = match\(/g, '$2, $1 = match('],
    [/format\('%d:%d', (@?count), (@?finish)\)/g, "format('%d:%d', $2, $1)"],
  ],
  'a sliding counter that stores its windows the other way round': [
    [/(@?first), (@?second), (@?third) = match\(/g, '$1, $3, $2 = match('],
    [/('%d:%d:%d', @?start), (@?previous), (@?current)/g, '$1, $3, $2'],
  ],
  'a sliding log whose waits are a millisecond longer': [
    [/(@?tick) and (@?tick) \+ (@?span) - (@?now)/g, '$1 and $2 + $3 - $4 + 1'],
  ],
  'a lock-out that stores its level behind the end of the block before': [
    [/(@?last), (@?steps), (@?earlier) = match\(/g, '$1, $3, $2 = match('],
    [/('%d:%d:%d:%d:%d', .*?), (@?level), (@?before)\)/g, '$1, $3, $2)'],
  ],
  'a mark that has its two times the other way round': [
    [/(forgotten), (given), (base), (began) = match\(/g, '$2, $1, $3, $4 = match('],
    [/('%d:%d'), (max\(forgotten or 0, forgottens\[i\] or 0\)), given/g, '$1, given, $2'],
  ],
  'keys that end in another way': [[/(\$\{\w+\?\.id\})-(\$\{\w+\})/g, '$1~$2']],
}

/** A new id, as needed when the state has another form. */
export const NEW_ID: readonly Replacement[] = [[/(['"])bucket1\1/g, '$1bucket2$1']]

/** @throws {Error} if one of the texts is not in the present version */
export async function changedVersion(changes: readonly Replacement[]): Promise<Version> {
  const folder = temporary('weir-changed-')
  cpSync(join(presentFolder, 'package.json'), join(folder, 'package.json'))
  const dist = join(presentFolder, 'dist')
  const isCode = (path: string) => !/\.(map|ts)$/.test(path)
  cpSync(dist, join(folder, 'dist'), { recursive: true, filter: isCode })
  const files = readdirSync(join(folder, 'dist'), { recursive: true, encoding: 'utf8' })
  const code = files
    .filter((file) => /\.c?js$/.test(file))
    .map((file) => join(folder, 'dist', file))
  for (const [from, to] of changes) {
    const changed = code.filter((file) => {
      const text = readFileSync(file, 'utf8')
      const after = text.replace(from, to)
      writeFileSync(file, after)
      return after !== text
    })
    if (changed.length === 0) throw new Error(`${from} is nowhere in ${dist}`)
  }
  return versionIn(folder, 'changed')
}
