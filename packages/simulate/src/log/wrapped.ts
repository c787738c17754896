// What collectors of logs put around the lines of a server: prefixes, and JSON with the line in its
// field `log`.

const TIME = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?`
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
/** The host, which may be missing, and the program: `web nginx[12]: `. */
const PROGRAM = String.raw`(?:\S+ )?[^\s:[\]]{1,128}(?:\[[^\s\]]{1,128}\])?: `

/** In no place can two parts of a pattern match the same text: no line makes it slow. */
const PREFIXES: readonly RegExp[] = [
  // CRI, which Kubernetes writes on nodes: 2026-10-10T12:00:01.5Z stdout F ...
  `${TIME} (?:stdout|stderr) [FP] `,
  // Syslog, RFC 5424: <190>1 2026-10-10T12:00:01Z web nginx 12 - [id a="b"] ...
  String.raw`<\d{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|(?:\[(?:[^\]\\"]|"(?:[^"\\]|\\.)*")*\])+) ?\ufeff?`,
  // Syslog, RFC 3164: <190>Oct 10 12:00:01 web nginx: ...
  String.raw`(?:<\d{1,3}>)?${MONTH} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)? ${PROGRAM}`,
  // rsyslog, journalctl, Heroku: 2026-10-10T12:00:01.5+00:00 web nginx[12]: ...
  `${TIME} ${PROGRAM}`,
  // docker logs --timestamps, kubectl logs --timestamps
  `${TIME} `,
  // docker compose logs, docker service logs: web-1  | ...
  String.raw`[\w.@-]+ +\| `,
  // kubectl logs --prefix: [pod/web-7d9f/nginx] ...
  String.raw`\[pod/[^\s\]]+\] `,
].map((pattern) => new RegExp(pattern, 'y'))

/** The most layers around a line, such as a prefix of compose and a time of Docker. */
const MOST = 3

/** The texts within a line, from the outermost to the line of the server. */
export function* within(line: string): Generator<string> {
  let text: string | undefined = line
  for (let layer = 0; layer < MOST; layer += 1) {
    text = unwrapped(text)
    if (text === undefined) return
    yield text
  }
}

function unwrapped(text: string): string | undefined {
  if (text.startsWith('{')) return logIn(text)
  for (const prefix of PREFIXES) {
    prefix.lastIndex = 0
    if (prefix.test(text)) return text.slice(prefix.lastIndex)
  }
  return undefined
}

/** The line that Docker's json-file and Fluent Bit have put into JSON. */
function logIn(text: string): string | undefined {
  try {
    const { log } = JSON.parse(text) as { readonly log?: unknown }
    return typeof log === 'string' ? log.trimEnd() : undefined
  } catch {
    return undefined
  }
}
