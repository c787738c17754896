// What built packages offer to TypeScript: the exported names of each entry with their declarations
// and all types in them, in alphabetical order.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
} from '@microsoft/api-extractor'

/** One compiler for all entries, since most of its work is reading the types of frameworks. */
const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  types: ['node'],
  typeRoots: [join(import.meta.dirname, '../../node_modules/@types')],
  strict: true,
  skipLibCheck: true,
  experimentalDecorators: true,
}

export interface Declarations {
  /** The folder of a package. */
  readonly folder: string
  /** The declarations of one of its entries. */
  readonly file: string
}

/** Makes a function that tells the public types of any of these entries, which must be built. */
export function typesOf(all: readonly Declarations[]): (one: Declarations) => string {
  const files = all.map(({ file }) => file)
  let state: CompilerState | undefined
  return (one) => {
    const work = mkdtempSync(join(tmpdir(), 'weir-types-'))
    try {
      const config = configOf(one, files, work)
      state ??= CompilerState.create(config, { additionalEntryPoints: files })
      const { succeeded } = Extractor.invoke(config, {
        compilerState: state,
        localBuild: true,
        messageCallback: (message) => {
          message.handled = true
        },
      })
      if (!succeeded) throw new Error(`no types found in ${one.file}`)
      return declarationsIn(readFileSync(join(work, 'types.api.md'), 'utf8'))
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
}

function configOf(
  { folder, file }: Declarations,
  files: readonly string[],
  work: string,
): ExtractorConfig {
  const silent = { default: { logLevel: ExtractorLogLevel.None } }
  return ExtractorConfig.prepare({
    configObject: {
      newlineKind: 'lf',
      projectFolder: folder,
      mainEntryPointFilePath: file,
      compiler: { overrideTsconfig: { compilerOptions: COMPILER_OPTIONS, files } },
      apiReport: {
        enabled: true,
        reportFileName: 'types.api.md',
        reportFolder: work,
        reportTempFolder: work,
        includeForgottenExports: true,
      },
      messages: {
        compilerMessageReporting: silent,
        extractorMessageReporting: silent,
        tsdocMessageReporting: silent,
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, 'package.json'),
  })
}

/** Removes what the tool reports about itself and about comments. */
function declarationsIn(report: string): string {
  const [, declarations = ''] = /```ts\n(.*)```/s.exec(report) ?? []
  const lines = declarations
    .split('\n')
    .filter((line) => !/^\s*\/\/ (@public|\(undocumented\)|\(No )/.test(line))
  return `\`\`\`ts\n${lines.join('\n').trim()}\n\`\`\`\n`
}
