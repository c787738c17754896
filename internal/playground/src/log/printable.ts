/**
 * Text of strangers as it may be shown: cut, and without signs that are invisible or turn the
 * direction of what follows.
 */
export function printable(text: string, most = 100): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
}
