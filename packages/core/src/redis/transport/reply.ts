// Reads the driver's reply: one msgpack array of whole numbers, each in the shortest form that
// cmsgpack knows (https://github.com/msgpack/msgpack/blob/master/spec.md).

/** The numbers of a packed array. */
export function unpackNumbers(packed: Buffer): number[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const head = view.getUint8(0)
  let at = 1
  let length = head & 0x0f
  if (head === 0xdc) {
    length = view.getUint16(1)
    at = 3
  } else if (head === 0xdd) {
    length = view.getUint32(1)
    at = 5
  }
  const numbers = new Array<number>(length)
  for (let i = 0; i < length; i += 1) {
    const type = view.getUint8(at)
    at += 1
    if (type < 0x80) numbers[i] = type
    else if (type >= 0xe0) numbers[i] = type - 0x100
    else {
      numbers[i] = read(view, type, at)
      at += WIDTHS[type - 0xcb] as number
    }
  }
  return numbers
}

/** Bytes after the types 0xcb (double), 0xcc to 0xcf (unsigned) and 0xd0 to 0xd3 (signed). */
const WIDTHS = [8, 1, 2, 4, 8, 1, 2, 4, 8]

function read(view: DataView, type: number, at: number): number {
  switch (type) {
    case 0xcb:
      return view.getFloat64(at)
    case 0xcc:
      return view.getUint8(at)
    case 0xcd:
      return view.getUint16(at)
    case 0xce:
      return view.getUint32(at)
    case 0xcf:
      return view.getUint32(at) * 2 ** 32 + view.getUint32(at + 4)
    case 0xd0:
      return view.getInt8(at)
    case 0xd1:
      return view.getInt16(at)
    case 0xd2:
      return view.getInt32(at)
    case 0xd3:
      return view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4)
    default:
      throw new TypeError(`the reply holds 0x${type.toString(16)} where a number belongs`)
  }
}
