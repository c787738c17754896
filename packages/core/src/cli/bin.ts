#!/usr/bin/env node
import { weir } from './main.js'

weir(process.argv.slice(2)).then(
  (lines) => console.log(lines.join('\n')),
  (error: Error & { readonly code?: string }) => {
    console.error(error.code === undefined ? error : `${error.code}: ${error.message}`)
    process.exitCode = 1
  },
)
