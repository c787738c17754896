// Client addresses, compared by their 128 bits and never by how they are written. An IPv4 address
// is held as the IPv4-mapped IPv6 address that it equals, so that there is one form for all.

/** Eight groups of 16 bits. */
export type Bits = readonly number[]

export function isMapped(bits: Bits): boolean {
  return bits[5] === 0xffff && !(bits[0] || bits[1] || bits[2] || bits[3] || bits[4])
}

/** True if the first `length` bits are the same. */
export function sameNetwork(bits: Bits, network: Bits, length: number): boolean {
  const whole = length >> 4
  for (let i = 0; i < whole; i += 1) if (bits[i] !== network[i]) return false
  const rest = length & 15
  return rest === 0 || ((bits[whole] as number) ^ (network[whole] as number)) >> (16 - rest) === 0
}

/** An address in the one form that all its spellings share. */
export function addressText(bits: Bits): string {
  if (!isMapped(bits)) return textOf(bits)
  const [high, low] = [bits[6] as number, bits[7] as number]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** RFC 5952: lower case, no leading zeros, the first longest run of zero groups as `::`. */
function textOf(bits: Bits): string {
  let [start, length] = [-1, 1]
  for (let i = 0; i < 8; i += 1) {
    let end = i
    while (end < 8 && bits[end] === 0) end += 1
    if (end - i > length) {
      start = i
      length = end - i
    }
    if (end > i) i = end
  }
  let text = ''
  for (let i = 0; i < 8; i += 1) {
    if (i === start) {
      text += '::'
      i += length - 1
    } else {
      if (i > 0 && i !== start + length) text += ':'
      text += (bits[i] as number).toString(16)
    }
  }
  return text
}

const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const IPV4_PORT = /^([\d.]+):\d{1,5}$/
const ZONE = /%[0-9A-Za-z._~-]+$/
const LONGEST = 100

/** Reads an address, with or without port, brackets or zone. `undefined` for everything else. */
export function parseAddress(text: string): Bits | undefined {
  if (text.length > LONGEST) return undefined
  if (text.startsWith('[')) {
    const inner = BRACKETED.exec(text)?.[1]
    return inner === undefined ? undefined : parseIpv6(inner.replace(ZONE, ''))
  }
  const port = text.includes('.') ? IPV4_PORT.exec(text) : null
  if (port !== null) return parseIpv4(port[1] as string)
  return parseIpv4(text) ?? parseIpv6(text.includes('%') ? text.replace(ZONE, '') : text)
}

/** Reads an address that stands alone. */
export function parseBare(text: string): Bits | undefined {
  return parseIpv4(text) ?? parseIpv6(text)
}

const ZERO = 48
const DOT = 46

export function isIpv4(text: string): boolean {
  if (text.length < 7 || text.length > 15) return false
  let [octets, digits, value] = [1, 0, 0]
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (digits === 0) return false
      octets += 1
      digits = 0
      value = 0
      continue
    }
    if (code < ZERO || code > ZERO + 9 || (digits > 0 && value === 0)) return false
    value = value * 10 + code - ZERO
    digits += 1
    if (value > 255) return false
  }
  return octets === 4 && digits > 0
}

/** An IPv4 address in its one proper form: four decimal numbers, no leading zeros. */
function parseIpv4(text: string): Bits | undefined {
  if (!isIpv4(text)) return undefined
  const [a, b, c, d] = text.split('.').map(Number) as [number, number, number, number]
  return [0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d]
}

const COLON = 58

function parseIpv6(text: string): Bits | undefined {
  const groups: number[] = []
  let at = 0
  let gap = -1
  if (text.startsWith('::')) {
    gap = 0
    at = 2
  }
  while (at < text.length) {
    const end = endOfGroup(text, at)
    if (text.charCodeAt(end) === DOT) {
      const [, , , , , , high, low] = parseIpv4(text.slice(at)) ?? []
      if (high === undefined || low === undefined) return undefined
      groups.push(high, low)
      break
    }
    if (end === at || end - at > 4) return undefined
    groups.push(Number.parseInt(text.slice(at, end), 16))
    if (end === text.length) break
    if (text.charCodeAt(end) !== COLON || end + 1 === text.length) return undefined
    at = end + 1
    if (text.charCodeAt(at) !== COLON) continue
    if (gap >= 0) return undefined
    gap = groups.length
    at += 1
  }
  if (gap < 0) return groups.length === 8 ? groups : undefined
  if (groups.length > 7) return undefined
  return [...groups.slice(0, gap), ...ZEROS.slice(groups.length), ...groups.slice(gap)]
}

const ZEROS: Bits = [0, 0, 0, 0, 0, 0, 0, 0]

/** Where the hexadecimal digits that begin at `at` end. */
function endOfGroup(text: string, at: number): number {
  let end = at
  while (end < text.length && isHex(text.charCodeAt(end))) end += 1
  return end
}

function isHex(code: number): boolean {
  const letter = code | 32
  return (code >= ZERO && code <= ZERO + 9) || (letter >= 97 && letter <= 102)
}
