// Markdown, formatted as in hand-written documents.

/** Wraps text to a width; no line begins like a list or a quotation. */
export function flow(text, columns = 100) {
  const indent = text.startsWith('- ') ? '  ' : ''
  const lines = ['']
  for (const word of text.replace(/\s+/g, ' ').split(/ (?![>+#*-]|\d+[.)] )/)) {
    const line = lines.at(-1)
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.replace(/\]\([^)]*\)/g, ']()').length <= columns) lines[lines.length - 1] = longer
    else lines.push(`${indent}${word}`)
  }
  return lines.join('\n')
}

/** Paragraphs and lists, each wrapped by itself. */
export function prose(text) {
  const parts = blocks(text).map((block) => flow(block))
  return parts.reduce((all, part, i) => {
    const isListed = part.startsWith('- ') && parts[i - 1].startsWith('- ')
    return `${all}${isListed ? '\n' : '\n\n'}${part}`
  })
}

/** Paragraphs and list items. */
export function blocks(text) {
  return text.split(/\n\s*\n|\n(?=\s*- )/).map((block) => block.trim())
}

/** Adds links to documents, and from error codes to their explanations. */
export function withLinks(text) {
  return text
    .replace(/`?\b(WEIR_[A-Z_]+)\b`?/g, (_, name) => `[${name}](../errors.md#${slug(name)})`)
    .replace(/\bdocs\/((?:[\w-]+\/)*([\w-]+)\.md)/g, '[$2](../$1)')
}

/** The anchor of a heading, as GitHub makes it. */
export function slug(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

export function code(text, language = 'js') {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

/** The title of a framework, from the name of its package. */
export function titleOf(name) {
  return name[0].toUpperCase() + name.slice(1)
}
