// The costs of fleets, as a command (see docs/scaling.md):
//
//   node internal/fleet/dist/internal/fleet/src/planning/main.js
//     [--measure] [--validate] [--plan] [--write]
//
// --measure measures the inputs on this machine, --validate runs real fleets beside simulated ones,
// and --plan simulates the fleets of the page; together they take about four minutes. Results that
// are not requested are read from internal/fleet/planning. --write writes the new results, the page
// and its pictures; without it, the command prints the tables. Measure only on a machine that is
// otherwise idle.

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
  // The page is made from the rounded figures of the file.
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
