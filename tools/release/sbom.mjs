// The bill of materials of a release, in CycloneDX 1.6: the packages, with the hashes of their
// tarballs, and everything that an installation adds. Peer dependencies are up to the user, and
// `npm sbom` makes no bill of an installation without them, so this one is made by hand.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** @typedef {import('./packages.mjs').Manifest} Manifest */

/**
 * @param {readonly { manifest: Manifest, tarball: string }[]} packed with the packed manifests
 * @returns {string}
 */
export function billOfMaterials(packed) {
  const [first] = packed
  const own = { type: 'application', name: 'weir', version: first?.manifest.version }
  const components = packed.map(({ manifest, tarball }) => {
    const { name, version, description, license } = manifest
    const content = createHash('sha512').update(readFileSync(tarball)).digest('hex')
    return {
      type: 'library',
      'bom-ref': referenceOf(name, version),
      name,
      version,
      description,
      licenses: [{ license: { id: license } }],
      hashes: [{ alg: 'SHA-512', content }],
      purl: referenceOf(name, version),
    }
  })
  const brought = packed.map(({ manifest }) => {
    const dependsOn = Object.keys(manifest.dependencies ?? {}).map((name) => {
      const other = packed.find((each) => each.manifest.name === name)
      if (other === undefined)
        throw new Error(`${manifest.name} depends on ${name}, which the bill does not know`)
      return referenceOf(name, other.manifest.version)
    })
    return { ref: referenceOf(manifest.name, manifest.version), dependsOn }
  })
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: own },
    components,
    dependencies: brought,
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}

/**
 * A package URL.
 * @param {string} name
 * @param {string} version
 */
function referenceOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
