// The file of `--html`.

import { type BigIntStats, fstatSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { quote } from '@weir/core/internal'
import { misuse } from '../errors.js'
import type { Given } from './options.js'

/**
 * Called before anything is read.
 * @throws {SimulateError} if `--html` names a file that the command reads, by whatever name
 */
export async function checkHtml(
  { values, logs, compare }: Given,
  input: NodeJS.ReadableStream,
): Promise<void> {
  const { html, policy } = values
  if (html === undefined) return
  const file = await fileAt(html)
  if (file === undefined) return
  const read = [...logs, ...(policy === undefined ? [] : [policy]), ...(compare ?? [])]
  for (const each of read) {
    const other = each === '-' ? openFile(input) : await fileAt(each)
    if (other?.ino !== file.ino || other.dev !== file.dev) continue
    const what = each === '-' ? 'standard input' : quote(each)
    throw misuse('--html', html, `another file: this one is ${what}, and would be overwritten`)
  }
}

/** @throws {SimulateError} if the file cannot be written */
export async function writeHtml(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch(({ message }: Error) => {
    throw misuse('--html', file, `a file that can be written: ${message}`)
  })
}

async function fileAt(path: string): Promise<BigIntStats | undefined> {
  return regular(await stat(path, { bigint: true }).catch(() => undefined))
}

/** The file that a shell has put in a stream's place. */
function openFile(stream: NodeJS.ReadableStream): BigIntStats | undefined {
  const { fd } = stream as { readonly fd?: unknown }
  return typeof fd === 'number' ? regular(fstatSync(fd, { bigint: true })) : undefined
}

function regular(found: BigIntStats | undefined): BigIntStats | undefined {
  return found?.isFile() ? found : undefined
}
