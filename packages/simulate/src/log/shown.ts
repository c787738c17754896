// Text of a log, made fit to be printed: strangers have written it.

/** The text, cut short, without characters that a terminal would obey or show as something else. */
export function shown(text: string, most = 60): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]|\p{M}{3,}/gu, (some) =>
    [...some].map((one) => `\\u{${(one.codePointAt(0) as number).toString(16)}}`).join(''),
  )
}
