// What a built package offers to TypeScript: its exported names with their declarations and all
// types in them, in alphabetical order. Tests compare it with an earlier version.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'

/**
 * @param folder the folder of the package, which must be built
 * @param entry an entry point, such as `http`
 */
export function publicTypes(folder: string, entry = 'index'): string {
  const file = join(folder, 'dist', `${entry}.d.cts`)
  const work = mkdtempSync(join(tmpdir(), 'weir-types-'))
  const silent = { default: { logLevel: ExtractorLogLevel.None } }
  try {
    const config = ExtractorConfig.prepare({
      configObject: {
        newlineKind: 'lf',
        projectFolder: folder,
        mainEntryPointFilePath: file,
        compiler: { overrideTsconfig: { compilerOptions: COMPILER_OPTIONS, files: [file] } },
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
    const { succeeded } = Extractor.invoke(config, {
      localBuild: true,
      messageCallback: (message) => {
        message.handled = true
      },
    })
    if (!succeeded) throw new Error(`no types found in ${file}`)
    return declarationsOf(readFileSync(join(work, 'types.api.md'), 'utf8'))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const COMPILER_OPTIONS = {
  target: 'es2022',
  module: 'nodenext',
  moduleResolution: 'nodenext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  experimentalDecorators: true,
}

/** Removes what the tool reports about itself and about comments. */
function declarationsOf(report: string): string {
  const [, declarations = ''] = /```ts\n(.*)```/s.exec(report) ?? []
  const lines = declarations
    .split('\n')
    .filter((line) => !/^\s*\/\/ (@public|\(undocumented\)|\(No )/.test(line))
  return `\`\`\`ts\n${lines.join('\n').trim()}\n\`\`\`\n`
}
