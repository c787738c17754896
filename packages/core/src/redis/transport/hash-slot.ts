// Hash slots of a Redis Cluster: CRC16 of the hash tag, modulo 16384
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/, XMODEM polynomial
// 0x1021).

const TABLE: Uint16Array<ArrayBuffer> = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

export const SLOTS = 16_384

/** The slot of a tag in ASCII, as keys.ts makes them. */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i += 1) {
    crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ tag.charCodeAt(i)) & 0xff] as number)) & 0xffff
  }
  return crc & (SLOTS - 1)
}
