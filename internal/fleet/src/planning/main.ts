// What fleets cost, as a command (docs/scaling.md says what it shows):
//
//   node internal/fleet/dist/internal/fleet/src/planning/main.js
//     [--measure] [--validate] [--plan] [--write]
//
// --measure measures the inputs on this machine, --validate runs real fleets beside simulated ones,
// --plan simulates the fleets of the page: all three take some four minutes. What is not asked for
// is read from internal/fleet/planning. --write writes what is new there, and the page and its
// pictures; without it, the tables are printed. Figures are worth something only from a machine
// that does nothing else.

import { parseArgs } from 'node:util'
import { type Results, readDocument, readResult, writeDocument, writeResult } from './files.js'
import { measure } from './measure.js'
import { pageWith, partsOfPages } from './page.js'
import { picturesOf } from './pictures.js'
import { plan } from './plan.js'
import { validate } from './validate.js'

const flag = { type: 'boolean', default: false } as const
const { values } = parseArgs({
  options: { measure: flag, validate: flag, plan: flag, write: flag },
})
const tell = (what: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${what}`)
}

async function resultOf<Name extends keyof Results>(
  name: Name,
  make: (() => Promise<Results[Name]>) | false,
): Promise<Results[Name]> {
  if (!make) return readResult(name)
  const result = await make()
  if (!values.write) return result
  writeResult(name, result)
  // The page is written from what the file says, to the digit.
  return readResult(name)
}

const inputs = await resultOf('inputs', values.measure && (() => measure(tell)))
const validated = await resultOf('validated', values.validate && (() => validate(inputs, tell)))
const planned = await resultOf('plan', values.plan && (() => plan(inputs, tell)))
tell('')
const results = { inputs, validated, plan: planned }
const pages = Object.entries(partsOfPages(results))
if (values.write) {
  for (const [path, parts] of pages) writeDocument(path, pageWith(readDocument(path), parts))
  for (const [name, text] of picturesOf(planned)) writeDocument(name, text)
} else {
  for (const [, parts] of pages)
    for (const [name, text] of Object.entries(parts)) console.log(`${name}\n\n${text}\n`)
}
process.exit(0)
