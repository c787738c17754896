// Runs before a package is packed, and refuses npm. npm keeps `workspace:` and `catalog:` in
// package.json, so its packages could not be installed; pnpm replaces them by versions.

const by = process.env.npm_config_user_agent ?? ''
if (!by.startsWith('pnpm/')) {
  console.error('a package that npm packs cannot be installed; run: npx pnpm@12 pack')
  process.exitCode = 1
}
