// Reads the driver's reply: one msgpack array of whole numbers, each in the shortest form that
// cmsgpack knows (https://github.com/msgpack/msgpack/blob/master/spec.md).

/** The numbers of a packed array. */
export function unpackNumbers(packed: Buffer): number[] {
  const head = packed.readUInt8(0)
  // The type 0xdc or 0xdd, before a length of two or four bytes; or a short length itself.
  const lengthWidth = head === 0xdc || head === 0xdd ? 2 * (head - 0xdb) : 0
  const length = lengthWidth > 0 ? packed.readUIntBE(1, lengthWidth) : head & 0x0f
  let at = 1 + lengthWidth
  const numbers = new Array<number>(length)
  for (let i = 0; i < length; i += 1) {
    const type = packed.readUInt8(at)
    at += 1
    if (type < 0x80) numbers[i] = type
    else if (type >= 0xe0) numbers[i] = type - 0x100
    else {
      // Of 0xcb (double), 0xcc to 0xcf (unsigned) and 0xd0 to 0xd3 (signed).
      const width = 1 << (type & 3)
      numbers[i] = read(packed, type, at, width)
      at += width
    }
  }
  return numbers
}

function read(packed: Buffer, type: number, at: number, width: number): number {
  if (type === 0xcb) return packed.readDoubleBE(at)
  if (type < 0xcb || type > 0xd3) {
    throw new TypeError(`the reply holds 0x${type.toString(16)} where a number belongs`)
  }
  const isSigned = type >= 0xd0
  if (width < 8) return isSigned ? packed.readIntBE(at, width) : packed.readUIntBE(at, width)
  const high = isSigned ? packed.readInt32BE(at) : packed.readUInt32BE(at)
  return high * 2 ** 32 + packed.readUInt32BE(at + 4)
}
