/** A server's refusal of a command, in the form in which ioredis reports it. */
export class RefusedError extends Error {
  override readonly name = 'ReplyError'
}
