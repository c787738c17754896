// Phrases that are wrong wherever they appear, and the prose of a file in which to look for them.

/** Each phrase, with a reason and a better one. */
export const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bso many\b/gi, '"so many" says no number: name it, or "a number of"'],
  [/, too(?=[,.;:)])/gi, '"too" trails: "also", earlier, or nothing'],
  [/(?<!\b(?:your|their|its|our|whose) )\bown keys?\b/gi, '"own key" is a policy key'],
  [/\bkeys? of (?:its|their) own\b/gi, '"a key of its own" is a policy key'],
  [/\bwaiting lines?\b/gi, '"waiting line" is a queue'],
  [/\bquiet (?:latency|latencies|responses?|times?)\b/gi, '"quiet" latency is baseline latency'],
  [/\btwice is as\b/gi, '"twice is as once" is idempotent'],
  [/\bto be had\b/gi, '"to be had" is "there", "available" or "supported"'],
  // "Who is limited." describes a field, and is allowed.
  [/(?<=^|[.!;] )Who (?!is |was )[a-z]+s [^?.!]*\./g, 'a statement begins with "Who": say who'],
  [/\b(a|an|and|at|by|for|in|is|it|of|on|or|the|to|with) \1\b/gi, 'a word stands twice'],
]

/** The wrong phrases in a file, each with a better one. */
export function wrongIn(file: string, text: string): string[] {
  const blocks = file.endsWith('.md') ? blocksOfMarkdown(text) : commentsOf(file, text)
  return blocks.flatMap((block) =>
    PHRASES.flatMap(([phrase, why]) =>
      (block.match(phrase) ?? []).map((found) => `${file}: ${found.trim()}: ${why}`),
    ),
  )
}

const NOT_PROSE = /^```.*?^```$|<!-- (\w+):start -->.*?<!-- \1:end -->|<!--.*?-->/gms
/** What begins a block in the middle of a paragraph. */
const BEGINNING = /^\s*(?:[-*] |\d+\. |\||#)/

/** Paragraphs, list items, table rows and headings, each on one line. */
function blocksOfMarkdown(text: string): string[] {
  const prose = text
    .replace(NOT_PROSE, '\n')
    .replace(/`[^`\n]*`/g, '``')
    .replace(/\]\([^)]*\)/g, ']')
  const blocks: string[] = ['']
  for (const line of prose.split('\n')) {
    if (line.trim() === '') blocks.push('')
    else if (BEGINNING.test(line)) blocks.push(line.replace(BEGINNING, '').trim())
    else blocks.push(`${blocks.pop()} ${line.trim()}`.trim())
  }
  return blocks
}

const COMMENTS = {
  lua: /--[^\n]*(?:\n\s*--[^\n]*)*/g,
  ts: /\/\*.*?\*\/|(?<![:'"`\w])\/\/[^\n]*(?:\n\s*\/\/[^\n]*)*/gs,
}
const MARKS = { lua: /^\s*-- ?/gm, ts: /^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/) ?|\*\/$/gm }

/** Comments, each on one line; consecutive line comments are one. */
function commentsOf(file: string, text: string): string[] {
  const language = file.endsWith('.lua') ? 'lua' : 'ts'
  return (text.match(COMMENTS[language]) ?? []).map((comment) =>
    comment
      .replace(MARKS[language], '')
      .replace(/`[^`\n]*`/g, '``')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}
