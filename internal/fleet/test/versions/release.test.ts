import { readdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { lastRelease, releaseAt, temporary } from '../../src/versions/release.js'

const release = lastRelease()

test.skipIf(release === undefined)(
  'a release is kept under a hash, and built again if it is missing',
  () => {
    const kept = temporary('weir-kept-')
    const again = () => releaseAt(release?.commit ?? '', kept)
    const { tarball, folder } = again()
    expect(readdirSync(folder).sort()).toEqual(['dist', 'package.json'])
    expect(basename(tarball)).toMatch(/^core-[0-9a-f]{40}-[0-9a-f]{16}\.tgz$/)
    writeFileSync(tarball, 'something else')
    expect(again().tarball).toBe(tarball)
    renameSync(tarball, tarball.replace(/[0-9a-f]{16}\.tgz$/, '0000000000000000.tgz'))
    expect(again().tarball).toBe(tarball)
    expect(readdirSync(kept)).toEqual([basename(tarball)])
  },
)

test('a commit that is not in this clone is named, with how to fetch it', () => {
  expect(() => releaseAt('0123456789012345678901234567890123456789')).toThrow(
    /^commit 01234567890123456789\d+ is not in this clone\. Fetch it: git fetch --unshallow$/,
  )
})
