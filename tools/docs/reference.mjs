// Writes docs/reference from the comments of the source, with TypeScript's compiler.
//
//   pnpm docs:reference           writes the pages
//   pnpm docs:reference --check   fails if the pages differ from the source
//
// pages.mjs lists the content of each page. A missing comment is an error.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import typescript from '@typescript/typescript6'
import { pages } from './pages.mjs'
import { adapters, ENTRIES, openSource } from './source.mjs'
import { blocks, code, flow, prose, slug, titleOf, withLinks } from './text.mjs'

const { displayPartsToString, SignatureKind, SymbolFlags } = typescript
/** More names than this are not listed again, if they are all that another section has. */
const MANY = 12
/** The options that readers look for first. */
const FIRST = [
  'limit',
  'capacity',
  'refill',
  'leak',
  'every',
  'window',
  'period',
  'burst',
  'policy',
  'name',
  'key',
  'cost',
  'store',
]
const DEFAULT = /(?:^|(?<=\.\s+))Default\s+(`[^`]+`|[\d,]+|true|false)\.(\s|$)/
/** The entries that export the names in examples, those first that say most of what they are. */
const FIRST_ENTRIES = ['live', 'adaptive', 'store', 'core']
const used = pages.flatMap(({ sections }) => sections.map(({ from = 'core' }) => from))
const entries = [...new Set([...FIRST_ENTRIES, ...used.filter((name) => name !== 'http'), 'http'])]

const FOREIGN = [
  ['Redis', "import { Redis } from 'ioredis'"],
  ['createClient', "import { createClient } from 'redis'"],
  ['GlideClient', "import { GlideClient } from '@valkey/valkey-glide'"],
  ...adapters.map((name) => [titleOf(name), `import ${titleOf(name)} from '${name}'`]),
]

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'docs/reference')
const { checker, exportsOf } = openSource(entries)
const missing = []
/** The page of each export. */
const places = new Map(
  pages.flatMap(({ file, sections }) =>
    sections.map(({ name, title = name }) => [name, `${file}#${slug(title)}`]),
  ),
)
/** The first section that describes each member, by its text: later ones only name it. */
const described = new Map()
/** The members that a section describes, by its title. */
const namesIn = new Map()
const written = new Map(pages.map((page) => [page.file, pageOf(page)]))
if (missing.length > 0) throw new Error(`without a comment: ${missing.join(', ')}`)
check(process.argv.includes('--check'))

function check(isOnly) {
  const present = existsSync(folder) ? readdirSync(folder) : []
  const right = present.filter((file) => {
    return readFileSync(join(folder, file), 'utf8') === written.get(file)
  })
  const wrong = [...new Set([...present, ...written.keys()])].filter(
    (file) => !right.includes(file),
  )
  if (isOnly && wrong.length > 0) {
    console.error(`docs/reference/ is not what the source says: ${wrong.join(', ')}`)
    console.error('Run: npx pnpm@12 docs:reference')
    process.exitCode = 1
  }
  if (isOnly) return
  mkdirSync(folder, { recursive: true })
  for (const file of wrong) {
    const text = written.get(file)
    if (text === undefined) rmSync(join(folder, file))
    else writeFileSync(join(folder, file), text)
  }
}

function pageOf({ file, title, intro, thrower, throws, sections }) {
  const start = '<!-- Written by docs:reference. -->'
  const thrown = throws ? `throws ${withLinks(throws.join(', '))}.` : ''
  const top = [intro, thrown && `${thrower} ${thrown}`].filter(Boolean).join(' ')
  const parts = [`# ${title}`, start, ...(top ? [flow(top)] : [])]
  const all = [...parts, ...sections.map((section) => sectionOf(section, file))].join('\n\n')
  if (!thrown) return `${all}\n`
  // What the top says is not said again.
  const again = `\n\n${flow(`T${thrown.slice(1)}`)}`
  if (!all.includes(again)) throw new Error(`${file}: no section ${thrown}`)
  return `${all.replaceAll(again, '')}\n`
}

function sectionOf(section, file) {
  const {
    name,
    title = name,
    from = 'core',
    members = true,
    omit = [],
    plain = [],
    call,
    example,
  } = section
  const symbol = exportsOf(from).get(name)
  const here = { title, file }
  const shown = (type, isGiven) => {
    const all = checker.getPropertiesOfType(checker.getNonNullableType(type))
    return list(
      all.filter((each) => !omit.includes(each.name)),
      name,
      isGiven,
      here,
    )
  }
  const [before, after = ''] = Array.isArray(members)
    ? ['', methodsOf(symbol, members)]
    : members && call === undefined
      ? bodyOf(symbol, name, shown, here, plain)
      : [call === undefined ? '' : code(call)]
  const comment = prose(commentOf(symbol, name))
  const parts = [
    `## ${title}`,
    stageOf(symbol),
    comment,
    before,
    endOf(symbol, from, example),
    after,
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

function stageOf(symbol) {
  const isExperimental = symbol.getJsDocTags(checker).some(({ name }) => name === 'experimental')
  return isExperimental ? '[Experimental](../versions.md#what-is-experimental).' : ''
}

/** The text before the errors and examples of an export, and the text after them. */
function bodyOf(symbol, name, shown, here, plain) {
  const { flags } = symbol
  const [node] = symbol.declarations
  if (flags & SymbolFlags.Function) return [callOf(symbol, name, SignatureKind.Call, shown)]
  if (flags & SymbolFlags.Class) return classOf(symbol, name, shown, here, plain)
  const written = (node.type?.getText() ?? '').replace(/readonly /g, '')
  if (flags & SymbolFlags.Variable) return [written.startsWith('{') ? code(written) : '']
  if (/^[\s|]*'/.test(written)) return ['']
  // A type with several names is shown as it is written, an object by its members.
  const isObject = written === '' || /^(Settings|Omit|\{)/.test(written)
  return [
    isObject
      ? shown(checker.getDeclaredTypeOfSymbol(symbol), /Options$|Extras$/.test(name))
      : code(written),
  ]
}

function callOf(symbol, name, kind, shown) {
  const [signature] = checker.getSignaturesOfType(checker.getTypeOfSymbol(symbol), kind)
  const parameters = signature.getParameters()
  const at = parameters.findIndex((parameter) => parameter.name === 'options')
  const names = parameters.map((each) => {
    const dots = each.declarations[0]?.dotDotDotToken ? '...' : ''
    return `${dots}${each.name}${isOptional(each) ? '?' : ''}`
  })
  const call = code(`${kind === SignatureKind.Construct ? 'new ' : ''}${name}(${names.join(', ')})`)
  const options = at < 0 ? '' : shown(checker.getTypeOfSymbol(parameters[at]), true)
  // An example shows how a single argument is given.
  const isShown = parameters.length === 1 && symbol.getJsDocTags(checker).some(isExample)
  return [isShown ? '' : call, options].filter((part) => part !== '').join('\n\n')
}

function isExample({ name }) {
  return name === 'example'
}

/** `plain`: properties that need no explanation. */
function classOf(symbol, name, shown, here, plain) {
  const all = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
  const members = all.filter((member) => !/^(__|#)/.test(member.name))
  const isMethod = ({ flags }) => (flags & SymbolFlags.Method) !== 0
  const properties = members.filter((one) => !isMethod(one) && !plain.includes(one.name))
  return [
    callOf(symbol, name, SignatureKind.Construct, shown),
    [
      `Properties:\n\n${list(properties, name, false, here)}`,
      ...members.filter(isMethod).map((member) => methodOf(member, name)),
    ].join('\n\n'),
  ]
}

/** The methods with these names, including static ones. */
function methodsOf(symbol, names) {
  const types = [checker.getDeclaredTypeOfSymbol(symbol), checker.getTypeOfSymbol(symbol)]
  const all = types.flatMap((type) => [...checker.getPropertiesOfType(type)])
  return names
    .map((name) =>
      methodOf(
        all.find((one) => one.name === name),
        symbol.name,
      ),
    )
    .join('\n\n')
}

function methodOf(symbol, owner) {
  const nodes = symbol.declarations
  const shown = nodes.length > 1 ? nodes.filter(({ body }) => body === undefined) : nodes
  const lines = shown.map((node) => {
    const whole = node.getText().slice(0, node.body ? -node.body.getText().length : undefined)
    return whole
      .replace(/^async |readonly | \| undefined(?= })/g, '')
      .replace(/\s+/g, ' ')
      .replace(/\( | (?=\))|,(?= ?\))/g, (part) => (part === '( ' ? '(' : ''))
      .trim()
  })
  const comment = prose(commentOf(symbol, `${owner}.${symbol.name}`))
  const parts = [`### ${symbol.name}`, code(lines.join('\n')), comment, endOf(symbol, 'core')]
  return parts.filter((part) => part !== '').join('\n\n')
}

function list(symbols, owner, isGiven, here) {
  const rank = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  const all = [...symbols]
    .filter(({ name }) => !/^(__|#)/.test(name))
    .sort((one, other) => rank(one) - rank(other))
  const elsewhere = new Map()
  const own = all.flatMap((symbol) => {
    const text = bulletOf(symbol, owner, isGiven)
    const first = described.get(text) ?? here
    described.set(text, first)
    if (first === here) {
      namesIn.set(here.title, [...(namesIn.get(here.title) ?? []), symbol.name])
      return [text]
    }
    elsewhere.set(first, [...(elsewhere.get(first) ?? []), symbol.name])
    return []
  })
  const others = [...elsewhere].map(([{ file, title }, names]) => {
    const place = `${file === here.file ? '' : file}#${slug(title)}`
    const other = `[\`${title}\`](${place})`
    const isAll = namesIn.get(title).every((name) => all.some((one) => one.name === name))
    if (names.length > MANY && isAll) return `- All others of ${other}.`
    return flow(`- As in ${other}: ${names.map((name) => `\`${name}\``).join(', ')}.`)
  })
  return [...own, ...others].join('\n')
}

function bulletOf(symbol, owner, isGiven) {
  const text = commentOf(symbol, `${owner}.${symbol.name}`)
  const initial = DEFAULT.exec(text)?.[1]
  const facts = [typeText(symbol)]
  if (initial !== undefined) facts.push(`default ${initial}`)
  else if (isGiven && !isOptional(symbol)) facts.push('required')
  const [first, ...rest] = blocks(initial === undefined ? text : text.replace(DEFAULT, ''))
  const head = flow(`- **\`${symbol.name}\`** (${facts.join(', ')}): ${first}`)
  return [head, ...rest.map((block) => flow(block, 98).replace(/^/gm, '  '))].join('\n')
}

function isOptional(symbol) {
  return (
    (symbol.flags & SymbolFlags.Optional) !== 0 || symbol.declarations[0]?.initializer !== undefined
  )
}

/** The type without the generic parameters that adapters fill in. */
function typeText(symbol) {
  const node = symbol.declarations.find(
    (each) => each.type && !/^(never|undefined)$/.test(each.type.getText()),
  )
  const isAccessor = (symbol.flags & SymbolFlags.GetAccessor) !== 0
  const written =
    node?.parameters && !isAccessor
      ? node
          .getText()
          .replace(/^\w+\??/, '')
          .replace(/\): (?=[^)]*$)/, ') => ')
      : (node?.type.getText() ?? checker.typeToString(checker.getTypeOfSymbol(symbol)))
  const plain = written
    .replace(/([\w'\])>])\n\s+(?=(readonly )?\w+\??:)/g, '$1; ')
    .replace(/\s+/g, ' ')
    .replace(/^\| |readonly | \| undefined(?=$|;| })/g, '')
    .replace(/RefundWhen<[^>]*>/g, '(request, outcome) => boolean')
    .replace(/^Asked<\w+, \w+, ([\w ]+)>$/g, '(request) => $1')
    .replace(/Asked<\w+, \w+, ([\w ]+|\w+<\w+>)>/g, '((request) => $1)')
    .replace(/Awaitable<([^>]*)>/g, '$1')
    .replace(/, \.\.\.(rest|answering): \w+/g, ', ...')
    .replace(/<Req>|(?<=request): Req\b/g, '')
    .replace(/^\((\(.*)\)$/, '$1')
  const place = places.get(plain)
  return place === undefined ? `\`${plain}\`` : `[\`${plain}\`](${place})`
}

function commentOf(symbol, owner) {
  const text = displayPartsToString(symbol.getDocumentationComment(checker)).trim()
  if (text === '') missing.push(owner)
  return withLinks(text)
}

/** What the export throws, and its examples, or from where to import it. */
function endOf(symbol, from, hasExample = true) {
  const tags = symbol.getJsDocTags(checker)
  const textsOf = (tag) =>
    tags
      .filter(({ name, text }) => name === tag && text)
      .map(({ text }) => displayPartsToString(text).trim())
  const thrown = textsOf('throws').map((text) => {
    const [, types, rest] = /^\{(.*?)\} (.*)$/s.exec(text)
    // A code says more than the class of its error.
    const what = rest.startsWith('WEIR_') ? '' : `\`${types.replace(' | ', '` or `')}\` `
    return flow(`Throws ${what}${withLinks(rest)}.`)
  })
  const examples = textsOf('example')
  if (examples.length > 0)
    thrown.push(
      hasExample ? code(withImports(examples.join('\n'), from), 'ts') : flow(importOf(from)),
    )
  return thrown.join('\n\n')
}

function importOf(entry) {
  const guide = adapters.includes(entry) ? `: [README](../../packages/${entry}/README.md)` : ''
  return `Exported by \`${ENTRIES.get(entry).from}\`${guide}.`
}

/** An old name, which stands at the root until 1.0. */
function isMoved({ declarations: [first] = [] }) {
  return first?.getSourceFile().fileName.endsWith('/entries/moved.ts')
}

/** An example is a separate module, so it imports what it uses. */
function withImports(text, from) {
  const words = new Set(
    text.replace(/(^|\s)\/\/.*/g, '').match(/(?<!\w|[^.]\.)[A-Za-z]\w+\b(?!:)/g),
  )
  const hasValue = (entry, name) => {
    const symbol = exportsOf(entry).get(name)
    return (symbol?.flags & SymbolFlags.Value) > 0 && !isMoved(symbol)
  }
  // What adapters export as well is imported from them.
  const all = [...new Set([...(from === 'http' ? [] : [from]), ...entries])]
  const named = [...words].filter((word) => all.some((entry) => hasValue(entry, word)))
  const whole = all.find((entry) => named.every((word) => hasValue(entry, word)))
  const lines = all.map((entry) => {
    const own = named.filter((word) => (whole ?? all.find((one) => hasValue(one, word))) === entry)
    const names = own.sort().join(', ')
    return own.length > 0 ? `import { ${names} } from '${ENTRIES.get(entry).from}'\n` : ''
  })
  for (const [name, line] of FOREIGN) if (words.has(name)) lines.push(`${line}\n`)
  const imports = lines.join('')
  return imports === '' ? text : `${imports}\n${text}`
}
