// Loads TypeScript sources into a tool, which Node 20 cannot do by itself.
import { rolldown } from 'rolldown'

/**
 * @param {string} path of a module, which is loaded again together with its imports. Resolves to
 *   its exports.
 */
export async function loadTs(path) {
  const build = await rolldown({
    input: path,
    platform: 'node',
    external: /^node:/,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  const { output } = await build.generate({ format: 'es', codeSplitting: false })
  await build.close()
  const code = Buffer.from(output[0].code).toString('base64')
  return import(`data:text/javascript;base64,${code}`).catch((error) => {
    // Its stack would repeat all of the code.
    throw new Error(`${path} cannot be loaded: ${error.message}`)
  })
}
