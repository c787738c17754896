// Packs whole numbers as the driver's reply does: an array of them, each in its shortest form
// (cmsgpack.pack; https://github.com/msgpack/msgpack/blob/master/spec.md).

export function packNumbers(numbers: readonly number[]): Buffer {
  const bytes: number[] = []
  const { length } = numbers
  if (length < 16) bytes.push(0x90 | length)
  else if (length < 2 ** 16) bytes.push(0xdc, length >> 8, length & 0xff)
  else bytes.push(0xdd, ...bigEndian(length, 4))
  for (const number of numbers) bytes.push(...packed(number))
  return Buffer.from(bytes)
}

function packed(number: number): readonly number[] {
  if (number >= 0) {
    if (number < 2 ** 7) return [number]
    if (number < 2 ** 8) return [0xcc, number]
    if (number < 2 ** 16) return [0xcd, ...bigEndian(number, 2)]
    if (number < 2 ** 32) return [0xce, ...bigEndian(number, 4)]
    return [0xcf, ...bigEndian(number, 8)]
  }
  if (number >= -(2 ** 5)) return [number & 0xff]
  if (number >= -(2 ** 7)) return [0xd0, number & 0xff]
  throw new RangeError(`the driver answers no ${number}`)
}

function bigEndian(number: number, width: number): readonly number[] {
  const bytes = new Array<number>(width)
  let rest = number
  for (let i = width - 1; i >= 0; i -= 1) {
    bytes[i] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return bytes
}
