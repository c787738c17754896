// The links in a Markdown document, and the anchors that can be linked to.

const LINK = /(\]\(|(?:src|srcset|href)=")([^)\s"]+)/g

/**
 * The text with code blanked out, since links in code do not count. Its length stays the same.
 * @param {string} text
 */
function proseOf(text) {
  return text
    .replace(/^```.*?^```$/gms, (code) => code.replace(/[^\n]/g, ' '))
    .replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]]/g, ' '))
}

/**
 * The targets of all links, in order.
 * @param {string} text
 * @returns {string[]}
 */
export function linksIn(text) {
  return [...proseOf(text).matchAll(LINK)].map(([, , target = '']) => target)
}

/**
 * The text with other targets. A link without a target becomes its text, and an image its
 * description.
 * @param {string} text
 * @param {(target: string) => string | undefined} targetOf
 * @returns {string}
 */
export function relinked(text, targetOf) {
  let result = ''
  let from = 0
  const prose = proseOf(text)
  for (const { 0: match, 1: before = '', 2: target = '', index } of prose.matchAll(LINK)) {
    const other = targetOf(target)
    const end = index + match.length
    if (other !== undefined || before !== '](') {
      result += text.slice(from, index) + before + (other ?? '')
      from = end
      continue
    }
    const start = prose.lastIndexOf('[', index)
    const isImage = text[start - 1] === '!'
    result += text.slice(from, isImage ? start - 1 : start) + text.slice(start + 1, index)
    from = text.indexOf(')', end) + 1
  }
  return result + text.slice(from)
}

/**
 * The anchors of headings, as GitHub makes them: a repeated one gets a number.
 * @param {string} text
 * @returns {Set<string>}
 */
export function anchorsIn(text) {
  const anchors = new Set()
  const headings = text.replace(/^```.*?^```$/gms, '').matchAll(/^#+ (.*)$/gm)
  for (const [, heading = ''] of headings) {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-')
    let name = anchor
    for (let i = 1; anchors.has(name); i += 1) name = `${anchor}-${i}`
    anchors.add(name)
  }
  return anchors
}
