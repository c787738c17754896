// Measures the time and memory for a log of ten million lines: 200,000 different clients, one
// policy, in the Combined Log Format or as JSON.
//
//   node packages/simulate/test/ten-million.mjs [--lines 10000000] [--json] [--keep]
//
// Writes the log, 1.3 GB, to the folder for temporary files, and removes it at the end. A separate
// process simulates it, as the command does; its time and memory are printed.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { randomOf } from '@weir/testkit/virtual-time'

const KEYS = 200_000
const DAY_S = 86_400
const START_S = Date.UTC(2026, 9, 10) / 1_000

function addressOf(key) {
  return `10.${key >> 16}.${(key >> 8) & 255}.${key & 255}`
}

/** Most keys appear now and then, and some of them very often. */
function* linesOf(count, isJson) {
  const { next } = randomOf(7)
  for (let i = 0; i < count; i += 1) {
    const second = START_S + Math.floor((i / count) * DAY_S)
    const key = i < KEYS ? i : Math.floor(next() ** 3 * KEYS)
    const ip = addressOf(key)
    const path = `/items/${Math.floor(next() * 1_000)}?page=${i % 7}`
    if (isJson) {
      const time = new Date(second * 1_000).toISOString()
      yield `{"time":"${time}","ip":"${ip}","method":"GET","path":"${path}","status":200,"bytes":512}\n`
    } else {
      const clock = new Date(second * 1_000).toISOString().slice(11, 19)
      yield `${ip} - - [10/Oct/2026:${clock} +0000] "GET ${path} HTTP/1.1" 200 512 "-" "curl/8.5.0"\n`
    }
  }
}

export function writeLog(path, count, isJson) {
  const file = openSync(path, 'w')
  let text = ''
  for (const line of linesOf(count, isJson)) {
    text += line
    if (text.length < 2 ** 20) continue
    writeSync(file, text)
    text = ''
  }
  writeSync(file, text)
  closeSync(file)
}

function main() {
  const { values } = parseArgs({
    options: {
      lines: { type: 'string', default: '10000000' },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  })
  const count = Number(values.lines)
  const folder = mkdtempSync(join(tmpdir(), 'weir-simulate-'))
  const log = join(folder, values.json ? 'log.jsonl' : 'access.log')
  try {
    writeLog(log, count, values.json)
    const program = fileURLToPath(new URL('./simulate-main.mjs', import.meta.url))
    const { stdout, status } = spawnSync(process.execPath, [program, log], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (status !== 0) throw new Error(`it ended with ${status}`)
    const { seconds, cpuSeconds, rssMb, report } = JSON.parse(stdout)
    const [{ keys, requests, runs }] = report.limiters
    const each = ((cpuSeconds / requests) * 1e6).toFixed(2)
    console.log(`${requests} requests of ${keys} keys, ${values.json ? 'JSON' : 'Combined'}`)
    console.log(`${seconds} s, ${cpuSeconds} s of CPU time, ${each} us a line, ${rssMb} MB`)
    console.log(`refused ${runs.map(({ refused }) => refused).join(' to ')}`)
  } finally {
    if (values.keep) console.log(log)
    else rmSync(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
