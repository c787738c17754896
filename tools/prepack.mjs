// Before a package is packed. npm leaves `workspace:` and `catalog:` in its package.json as they
// are, and nothing could install what it packs; pnpm writes versions in their place.

const by = process.env.npm_config_user_agent ?? ''
if (!by.startsWith('pnpm/')) {
  console.error('a package that npm packs cannot be installed; run: npx pnpm@12 pack')
  process.exitCode = 1
}
