// Reads the driver's reply: one msgpack array of whole numbers, each in the shortest form that
// cmsgpack knows (https://github.com/msgpack/msgpack/blob/master/spec.md); or, to a request that is
// alone in its call, doubles. call.ts says what they mean.

/**
 * The numbers of a packed array. Read byte by byte: a Buffer's own functions take three times as
 * long.
 * @throws {TypeError | RangeError} if it is something else, or cut short
 */
export function unpackNumbers(packed: Buffer): number[] {
  const head = packed[0] as number
  // A double of 0 or more, as the time is, begins below 0x80; an array does not.
  if (head < 0x80) return unpackDoubles(packed)
  // 0xdc and 0xdd stand before a length of two and of four bytes.
  const isLong = head === 0xdc || head === 0xdd
  let at = isLong ? 1 + 2 * (head - 0xdb) : 1
  const length = isLong ? whole(packed, 1, at - 1, false) : head & 0x0f
  const numbers = new Array<number>(length)
  for (let i = 0; i < length; i += 1) {
    const type = packed[at] as number
    at += 1
    if (type < 0x80) numbers[i] = type
    else if (type >= 0xe0) numbers[i] = type - 0x100
    else if (type >= 0xcb && type <= 0xd3) {
      // 0xcb is a double, 0xcc to 0xcf are unsigned, 0xd0 to 0xd3 are signed.
      const width = 1 << (type & 3)
      const isDouble = type === 0xcb
      numbers[i] = isDouble ? packed.readDoubleBE(at) : whole(packed, at, width, type >= 0xd0)
      at += width
    } else throw new TypeError(`the reply holds 0x${type?.toString(16)} where a number belongs`)
  }
  if (at > packed.length) throw new RangeError('the reply is cut short')
  return numbers
}

function unpackDoubles(packed: Buffer): number[] {
  const numbers = new Array<number>(packed.length / 8)
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = packed.readDoubleBE(8 * i)
  return numbers
}

function whole(packed: Buffer, at: number, width: number, isSigned: boolean): number {
  let value = packed[at] as number
  if (isSigned && value >= 0x80) value -= 0x100
  for (let i = 1; i < width; i += 1) value = value * 0x100 + (packed[at + i] as number)
  return value
}
