#!/usr/bin/env node
import { type CommandError, weir } from './main.js'

weir(process.argv.slice(2)).then(
  (lines) => console.log(lines.join('\n')),
  (error: CommandError) => {
    console.error(error.code === undefined ? error : `${error.code}: ${error.message}`)
    process.exitCode = error.exitCode ?? 1
  },
)
