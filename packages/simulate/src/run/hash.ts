/**
 * A hash of 32 bits: FNV-1a over UTF-16 units, then the last step of MurmurHash3, because FNV's low
 * bits are weak. It has no random seed, so that each run has the same sample.
 */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) | 0
}
