// Drafts the page of a release on GitHub, for the tag that the workflow runs for. The text is what
// the changelogs say about the version. The assets are those that npm run release has made:
// tarballs, their sums and sizes, and the bill of materials.
//
//   node tools/release/assets.mjs FOLDER
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { notesOfAll } from './notes.mjs'
import { manifestIn } from './packages.mjs'
import { whereItLives } from './where.mjs'

const [folder = 'release'] = process.argv.slice(2)
const tag = process.env.GITHUB_REF_NAME ?? ''
if (!/^v\d/.test(tag))
  throw new Error(`"${tag}" is no tag of a version; this runs for v0.2.0 and such`)

const notes = notesOfAll('.', tag.slice(1), whereItLives(manifestIn('.')))
const files = readdirSync(folder).map((file) => join(folder, file))
const isThere = spawnSync('gh', ['release', 'view', tag], { stdio: 'ignore' }).status === 0
// A repeated run finds the draft of the earlier one.
const args = isThere
  ? ['upload', tag, ...files, '--clobber']
  : ['create', tag, ...files, '--verify-tag', '--draft', '--title', tag, '--notes-file', '-']
execFileSync('gh', ['release', ...args], { input: notes, stdio: ['pipe', 'inherit', 'inherit'] })
