// Logs of columns: those of AWS's load balancers, whose columns AWS has fixed, and those of
// CloudFront and IIS, in which a line `#Fields` names them (W3C Extended Log File Format).

/** The object that a line is; undefined for a blank line; a text that says why there is none. */
type Read = (line: string) => object | string | undefined

const ALB_TYPE = /^(?:https?|h2|grpcs?|wss?) \d{4}-/
const TOKEN = /"((?:[^"\\]|\\.)*)"|\S+/g

/** An Application Load Balancer's line: `https 2026-10-10T12:00:01.5Z app/web/5 203.0.113.7:2817
 *  10.0.0.1:80 0.0 0.1 0.0 200 200 34 366 "GET https://a.example:443/ HTTP/1.1" "curl/8" ...`. */
export function albLine(line: string): object | string | undefined {
  if (line.trim() === '') return undefined
  if (!ALB_TYPE.test(line)) return 'no type and time of an Application Load Balancer'
  const tokens = Array.from(line.matchAll(TOKEN), ([all, quoted]) => quoted ?? all)
  const [type, time, elb, ip, target, , , , status, targetStatus, , bytes, request, agent] = tokens
  if (agent === undefined) return 'fewer columns than an Application Load Balancer writes'
  const [method, path, protocol] = (request as string).split(' ')
  const asked = { method: method === '-' ? undefined : method, path, protocol }
  const named = { type, time, elb, ip, target, status, targetStatus, bytes, ...asked }
  return { ...named, headers: { 'user-agent': agent } }
}

export function isAlb(line: string): boolean {
  return ALB_TYPE.test(line) && typeof albLine(line) === 'object'
}

const HEADER = /^cs\((.+)\)$/

/** Reads lines by the columns that the last `#Fields` has named. */
export function w3cReader(): Read {
  let names: readonly string[] | undefined
  return (text) => {
    const line = text.trimEnd()
    if (line === '') return undefined
    if (line.startsWith('#')) {
      if (line.startsWith('#Fields:')) names = line.slice(8).trim().split(/\s+/)
      return undefined
    }
    if (names === undefined) return 'no line #Fields before it'
    const values = line.split(line.includes('\t') ? '\t' : ' ')
    if (values.length !== names.length) return 'other columns than #Fields names'
    return w3cObject(names, values)
  }
}

function w3cObject(names: readonly string[], values: readonly string[]): object {
  const columns = new Map(names.map((name, i) => [name, values[i] as string]))
  const headers = names.flatMap((name) => {
    const header = name === 'x-forwarded-for' ? name : HEADER.exec(name)?.[1]
    return header === undefined ? [] : [[header, columns.get(name)]]
  })
  const query = columns.get('cs-uri-query') ?? '-'
  return {
    ...Object.fromEntries(columns),
    time: `${columns.get('date')} ${columns.get('time')}`,
    ip: columns.get('c-ip'),
    user: columns.get('cs-username'),
    method: columns.get('cs-method'),
    path: `${columns.get('cs-uri-stem') ?? ''}${query === '-' ? '' : `?${query}`}`,
    host: columns.get('x-host-header') ?? columns.get('cs(Host)') ?? columns.get('cs-host'),
    status: columns.get('sc-status'),
    bytes: columns.get('sc-bytes'),
    headers: Object.fromEntries(headers),
  }
}

export function isW3c(line: string): boolean {
  return /^#(?:Version|Fields): /.test(line)
}
