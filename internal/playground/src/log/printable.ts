/**
 * A stranger's text, made fit to be shown: cut short, and without characters that are invisible or
 * change the writing direction.
 */
export function printable(text: string, most = 100): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
}
