// The same 400 requests as the logs of many tools have them. Lines of nginx 1.22, Apache 2.4,
// HAProxy 2.6, Caddy 2.6, morgan 1.12 and pino-http 11 are as these wrote them, but for addresses,
// times and paths: the packages of Debian 12 and npm, each asked 400 times from 127.0.0.2 to
// 127.0.0.21; HAProxy logs to a socket for UDP. The others are as their documents show them.

import { combined } from './log-lines.js'

/** A request. */
interface LoggedRequest {
  readonly ip: string
  readonly timeUs: number
  readonly path: string
  readonly number: number
}

export type LineOf = (asked: LoggedRequest) => string

const START_US = Date.UTC(2026, 10, 29, 15) * 1_000

/** Nineteen clients with 10 requests each, and one with 210, which a limit of 20 a minute refuses,
 *  over 400 s. */
export const ASKED: readonly LoggedRequest[] = Array.from({ length: 400 }, (_, number) => {
  const client = number % 2 === 1 || number >= 380 ? 20 : 1 + ((number / 2) % 19)
  const timeUs = START_US + number * 1_000_000
  return { ip: `203.0.113.${client}`, timeUs, path: `/a?b=${number}`, number }
})

export const PROXY = '10.0.0.1'

/** `29/Nov/2026:15:08:48 +0000` */
function clfTime({ timeUs }: LoggedRequest): string {
  return /\[(.*?)\]/.exec(combined({ timeUs }))?.[1] as string
}

function iso({ timeUs }: LoggedRequest): string {
  return new Date(timeUs / 1_000).toISOString()
}

/** `2026-11-29T15:09:09.138116+00:00` */
function isoUs(asked: LoggedRequest): string {
  return iso(asked).replace('Z', '116+00:00')
}

/** `Nov 29 15:09:09` */
function bsd(asked: LoggedRequest): string {
  return `Nov 29 ${iso(asked).slice(11, 19)}`
}

function seconds({ timeUs }: LoggedRequest): number {
  return timeUs / 1e6
}

export const nginx: LineOf = (asked) => through(asked.ip)(asked)

/** nginx's Combined format with this address. */
export function through(ip: string): LineOf {
  return (asked) =>
    `${ip} - - [${clfTime(asked)}] "GET ${asked.path} HTTP/1.1" 200 5 "-" "curl/8.5.0"`
}

export const common: LineOf = (asked) =>
  `${asked.ip} - - [${clfTime(asked)}] "GET ${asked.path} HTTP/1.1" 404 236`

export const isoCombined: LineOf = (asked) =>
  `${asked.ip} - - [${iso(asked).replace('.000Z', '+00:00')}] "GET ${asked.path} HTTP/1.1" 200 5 "-" "curl/8.5.0"`

/** Every tenth client went away before the response. */
export const morgan: LineOf = (asked) => {
  const line = nginx(asked)
  return asked.number % 10 === 0 ? line.replace('200 5', '- -') : line
}

export const morganIso: LineOf = (asked) =>
  `${asked.ip} - - [${iso(asked)}] "GET ${asked.path} HTTP/1.1" 200 5 "-" "curl/8.5.0"`

export const morganTiny: LineOf = ({ path }) => `GET ${path} 200 5 - 0.599 ms`

const haproxyEnd =
  '200 49 "" "" 54404 137 "clf" "clf" "<NOSRV>" 0 -1 -1 -1 0 LR-- 1 1 0 0 0 0 0 "" "" '

export const haproxyClf: LineOf = (asked) =>
  `${asked.ip} - - [${clfTime(asked)}] "GET ${asked.path} HTTP/1.1" ${haproxyEnd}`

export const haproxyHttp: LineOf = (asked) =>
  `${asked.ip}:46958 [${clfTime(asked).replace(' +0000', '.164')}] plain plain/<NOSRV> 0/-1/-1/-1/0 200 49 - - LR-- 1/1/0/0/0 0/0 "GET ${asked.path} HTTP/1.1"`

/** nginx's format main behind a proxy, which sends the client's address in a header. */
export function main(proxy: string, sent: (asked: LoggedRequest) => string): LineOf {
  return (asked) => `${through(proxy)(asked)} "${sent(asked)}"`
}

/** The addresses that a client may send, another for each request, and its own at the end. */
export function forged({ number, ip }: LoggedRequest): string {
  return number % 2 === 0 ? ip : `198.51.100.${number % 250}, ${ip}`
}

export const ingress: LineOf = (asked) =>
  `${asked.ip} - [${asked.ip}] - - [${clfTime(asked)}] "GET ${asked.path} HTTP/1.1" 200 5 "-" "curl/8.5.0" 126 0.005 [web-80] 10.1.0.7:7801 5 0.005 200`

export const ingressBehind: LineOf = (asked) =>
  ingress({ ...asked, ip: PROXY }).replace(`[${PROXY}]`, `[${forged(asked)}, ${PROXY}]`)

/** The header is the first field, in place of the address. */
export const headerFirst: LineOf = (asked) => through(forged(asked))(asked)

type Around = (line: string, asked: LoggedRequest) => string

/** What collectors put around lines. */
export const AROUND: Readonly<Record<string, Around>> = {
  'syslog, RFC 3164, of nginx': (line, asked) => `<190>${bsd(asked)} vm nginx: ${line}`,
  'syslog, RFC 3164, without a host': (line, asked) => `<190>${bsd(asked)} nginx: ${line}`,
  'syslog, RFC 3164, of HAProxy': (line, asked) =>
    `<134>${bsd(asked)} localhost haproxy[11973]: ${line}`,
  'a file of syslog': (line, asked) => `${bsd(asked)} web-1 nginx[12]: ${line}`,
  'syslog, RFC 5424, of HAProxy': (line, asked) =>
    `<134>1 ${isoUs(asked)} - haproxy 11973 - - ${line}`,
  'syslog, RFC 5424, with an address as the host': (line, asked) =>
    `<134>1 ${isoUs(asked)} 10.0.0.5 - - - - ${line}`,
  'syslog, RFC 5424, with structured data': (line, asked) =>
    `<165>1 ${isoUs(asked)} web.example evntslog - ID47 [exampleSDID@32473 iut="3" eventID="a \\"b\\] c"][x@1] ${line}`,
  'a file of rsyslog': (line, asked) => `${isoUs(asked)} web nginx[12]: ${line}`,
  Heroku: (line, asked) => `${isoUs(asked)} app[web.1]: ${line}`,
  'HAProxy, iso': (line, asked) => `${isoUs(asked)} ${line}`,
  'docker logs -t': (line, asked) => `${iso(asked).replace('Z', '000000Z')} ${line}`,
  'docker compose logs': (line) => `web-1  | ${line}`,
  'docker compose logs -t': (line, asked) =>
    `web-1  | ${iso(asked).replace('Z', '000000Z')} ${line}`,
  'docker service logs': (line) => `web.1.j4r5@node-2    | ${line}`,
  CRI: (line, asked) => `${iso(asked).replace('Z', '123456+02:00')} stdout F ${line}`,
  'kubectl logs --prefix': (line) => `[pod/web-7d9f5c-x2x/nginx] ${line}`,
  "Docker's json-file": (line, asked) =>
    JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: iso(asked) }),
  'Fluent Bit': (line, asked) => JSON.stringify({ date: seconds(asked), log: line }),
  'Fluent Bit, of CRI': (line, asked) =>
    JSON.stringify({ date: seconds(asked), log: `${iso(asked)} stdout F ${line}` }),
}

export const caddy: LineOf = (asked) =>
  JSON.stringify({
    level: 'info',
    ts: seconds(asked),
    logger: 'http.log.access.log0',
    msg: 'handled request',
    request: {
      ...{ remote_ip: asked.ip, remote_port: '48766', proto: 'HTTP/1.1', method: 'GET' },
      ...{ host: 'a.example', uri: asked.path, headers: { 'User-Agent': ['curl/8.5.0'] } },
    },
    ...{ user_id: '', duration: 0.0116, size: 5, status: 200, resp_headers: { Server: ['Caddy'] } },
  })

export function pino(ip: string | undefined, headers: object = {}): LineOf {
  return (asked) =>
    JSON.stringify({
      ...{ level: 30, time: asked.timeUs / 1_000, pid: 11261, hostname: 'vm' },
      req: {
        ...{ id: asked.number, method: 'GET', url: asked.path, query: {}, params: {} },
        headers: { host: '127.0.0.1:7801', 'user-agent': 'curl/7.88.1', ...headers },
        ...{ remoteAddress: ip ?? asked.ip, remotePort: 56924 },
      },
      res: { statusCode: 200, headers: { 'x-powered-by': 'Express' } },
      ...{ responseTime: 11, msg: 'request completed' },
    })
}

/** Behind a proxy. */
export const pinoBehind: LineOf = (asked) =>
  pino(`::ffff:${PROXY}`, { 'x-forwarded-for': forged(asked) })(asked)

/** Two lines for each request, of which the second has no address. */
export const fastify: LineOf = (asked) => {
  const about = { level: 30, time: asked.timeUs / 1_000, pid: 1, hostname: 'vm' }
  const req = { method: 'GET', url: asked.path, host: 'a', remoteAddress: asked.ip }
  const reqId = `req-${asked.number}`
  return [
    JSON.stringify({ ...about, reqId, req, msg: 'incoming request' }),
    JSON.stringify({ ...about, reqId, res: { statusCode: 200 }, msg: 'request completed' }),
  ].join('\n')
}

export function nginxJson(ip: string | undefined, sent: object | LineOf = {}): LineOf {
  return (asked) =>
    JSON.stringify({
      time: iso(asked).replace('.000Z', '+00:00'),
      remote_addr: ip ?? asked.ip,
      ...{ request: `GET ${asked.path} HTTP/1.1`, status: '200' },
      ...(typeof sent === 'function' ? JSON.parse(sent(asked)) : sent),
    })
}

export const traefik: LineOf = (asked) =>
  JSON.stringify({
    ...{ ClientAddr: `${asked.ip}:51234`, ClientHost: asked.ip, ClientPort: '51234' },
    ...{
      ClientUsername: '-',
      DownstreamContentSize: 5,
      DownstreamStatus: 200,
      Duration: 1_234_567,
    },
    ...{ RequestAddr: 'a.example', RequestHost: 'a.example', RequestMethod: 'GET' },
    ...{ RequestPath: asked.path, RequestPort: '-', RequestProtocol: 'HTTP/1.1' },
    ...{ StartUTC: iso(asked).replace('Z', '123456Z'), entryPointName: 'web', level: 'info' },
    ...{ msg: '', 'request_User-Agent': 'curl/8.5.0', time: iso(asked) },
  })

export const traefikClf: LineOf = (asked) =>
  `${nginx(asked)} ${asked.number} "web@docker" "http://172.18.0.3:80" 3ms`

export const googleCloud: LineOf = (asked) =>
  JSON.stringify({
    httpRequest: {
      ...{ requestMethod: 'GET', requestUrl: `https://a.example${asked.path}`, requestSize: '220' },
      ...{ status: 200, responseSize: '512', userAgent: 'curl/8.5.0', remoteIp: asked.ip },
      ...{ serverIp: '10.128.0.2', latency: '0.001s' },
    },
    ...{ insertId: `i${asked.number}`, timestamp: iso(asked), severity: 'INFO' },
    ...{ resource: { type: 'http_load_balancer' }, receiveTimestamp: iso(asked) },
  })

export const alb: LineOf = (asked) =>
  `https ${isoUs(asked).replace('+00:00', 'Z')} app/my-loadbalancer/50dc6c495c0c9188 ${asked.ip}:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443${asked.path} HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678" 1 ${iso(asked)} "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_123456`

export const CLOUDFRONT: readonly string[] = [
  '#Version: 1.0',
  '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end',
]

export const cloudFront: LineOf = (asked) => {
  const [stem, query] = asked.path.split('?') as [string, string]
  const [date, time] = iso(asked).split(/[T.]/) as [string, string]
  return [
    ...[date, time, 'LAX1', '2390282', asked.ip, 'GET', 'd111111abcdef8.cloudfront.net', stem],
    ...['200', '-', 'Mozilla/4.0%20(compatible)', query, '-', 'Hit', 'SOX4xwn4XV6Q4rgb7XiVGOHms'],
    ...['a.example', 'http', '23', '0.001', '-', '-', '-', 'Hit', 'HTTP/1.1', '-', '-', '11040'],
    ...['0.001', 'Hit', 'text/html', '78', '-', '-'],
  ].join('\t')
}

export const IIS: readonly string[] = [
  '#Software: Microsoft Internet Information Services 10.0',
  '#Version: 1.0',
  '#Date: 2026-11-29 15:00:00',
  '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken',
]

export const iis: LineOf = (asked) => {
  const [stem, query] = asked.path.split('?') as [string, string]
  const [date, time] = iso(asked).split(/[T.]/) as [string, string]
  return `${date} ${time} 10.0.0.9 GET ${stem} ${query} 80 - ${asked.ip} Mozilla/5.0+(Windows) - 200 0 0 46`
}
