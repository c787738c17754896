/** Ms on the machine's monotonic clock, the same for all processes. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
