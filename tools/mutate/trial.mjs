// A child process of tools/mutate.mjs: tries one mutant after the other, and is killed if one never
// ends.
import { join } from 'node:path'
import { importFromCore, loadTs } from '../load-ts.mjs'

const [folder, port, seed, walksPerKernel] = process.argv.slice(2)
const trialPath = join(folder, 'packages/core/test/mutation/trial.ts')
const original = await loadTs(trialPath)
const walks = original.recordWalks(Number(seed), Number(walksPerKernel))
const { Redis } = await importFromCore('ioredis')
const client = new Redis(Number(port))
let tried = 0

process.on('message', async ({ kernel }) => {
  process.send(await outcome(kernel))
})
process.send('ready')

/** 'survived', or how it was told. The mutant is in the folder already. */
async function outcome(kernel) {
  tried += 1
  try {
    const trial = await loadTs(trialPath)
    await trial.tryLua(original.walksOn(walks, kernel), client, `m${process.pid}-${tried}`)
    return 'survived'
  } catch (error) {
    const text = [error.message, error.cause?.message].join(' ')
    return /Error compiling script|Transform failed|Unexpected|PARSE_ERROR/.test(text)
      ? 'invalid'
      : 'killed'
  } finally {
    if (tried % 20 === 0) await client.flushall()
  }
}
