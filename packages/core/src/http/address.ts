// Client addresses, judged by their 128 bits and never by how they are written. An IPv4 address is held as the
// IPv4-mapped IPv6 address that it equals, so that there is one form for all.

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
    if (end - i > length) [start, length] = [i, end - i]
    if (end > i) i = end
  }
  const hex = bits.map((group) => group.toString(16))
  if (start < 0) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}

const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const IPV4_PORT = /^([\d.]+):\d{1,5}$/
const ZONE = /(:.*)%[0-9A-Za-z._~-]+$/

/** Reads an address, with or without a port, brackets or a zone. Says `undefined` of everything else. */
export function parseAddress(text: string): Bits | undefined {
  if (text.length > 100) return undefined
  const bare = BRACKETED.exec(text)?.[1]
  if (bare !== undefined) return parseIpv6(bare.replace(ZONE, '$1'))
  return parseBare(IPV4_PORT.exec(text)?.[1] ?? text.replace(ZONE, '$1'))
}

/** Reads an address that stands alone. */
export function parseBare(text: string): Bits | undefined {
  const groups = parseIpv4(text)
  return groups === undefined ? parseIpv6(text) : [0, 0, 0, 0, 0, 0xffff, ...groups]
}

/** The two groups of an IPv4 address in its one proper form: four decimal numbers, no leading zeros. */
function parseIpv4(text: string): readonly [number, number] | undefined {
  if (!isIpv4(text)) return undefined
  const [a, b, c, d] = text.split('.').map(Number) as [number, number, number, number]
  return [(a << 8) | b, (c << 8) | d]
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

const GROUP = /^[0-9A-Fa-f]{1,4}$/

function parseIpv6(text: string): Bits | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] as string, halves.length === 1)
  if (halves.length === 1) return head?.length === 8 ? head : undefined
  const tail = groupsOf(halves[1] as string, true)
  if (head === undefined || tail === undefined || head.length + tail.length > 7) return undefined
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/** Groups between colons; the last may be an IPv4 address where the text ends the address. */
function groupsOf(text: string, last: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] as string
    const v4 = last && i === parts.length - 1 ? parseIpv4(part) : undefined
    if (v4 !== undefined) groups.push(...v4)
    else if (GROUP.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}
