/** What a log says of one request. What it does not say is undefined. */
export interface LogEntry {
  /** When, in whole microseconds since 1970. */
  readonly timeUs: number
  /** The address of the client, as the log has it. */
  readonly ip: string | undefined
  /** Who was logged in. */
  readonly user: string | undefined
  readonly method: string | undefined
  /** The target of the request, with its query: `/search?q=1`. */
  readonly path: string | undefined
  /** The host that the request named. */
  readonly host: string | undefined
  /** The status of the response. */
  readonly status: number | undefined
  /** The size of the response, in bytes. */
  readonly bytes: number | undefined
  /** The value of the field that `fields.key` names, as text. */
  readonly key: string | undefined
  /** The value of the field that `fields.cost` names. `NaN`: the field is there, but no number. */
  readonly cost: number | undefined
  /** A request header, by its name in any case: `header('user-agent')`. */
  header(name: string): string | undefined
  /** Any field, by its path: `field('user.id')`. Undefined where it is an object. */
  field(path: string): string | number | boolean | undefined
}

/** An entry; undefined for a blank line; a text that says why the line cannot be read. */
export type Parsed = LogEntry | string | undefined
