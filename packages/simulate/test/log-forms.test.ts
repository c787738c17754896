// The logs of many tools have the same requests: a simulation of each finds the same keys and the
// same affected ones, or says what to do, and then never ends with exit code 0.

import { describe, expect, test } from 'vitest'
import { folder } from './folder.js'
import * as forms from './log-forms.js'
import { AROUND, ASKED, type LineOf, PROXY } from './log-forms.js'
import { weir } from './weir.js'

const files = folder()
let count = 0

async function simulated(lines: readonly string[], args: readonly string[] = []) {
  count += 1
  const log = files.write(`${count}.log`, `${lines.join('\n')}\n`)
  const command = [log, '--limit', '20', '--window', '1m', '--json', ...args]
  const { code, out } = await weir('simulate', command)
  const { doubts, limiters, log: read } = JSON.parse(out)
  const [{ requests, keys, runs }] = limiters
  const affected = runs.map((run: { readonly affected: number }) => run.affected)
  return { code, doubts, requests, keys, affected: Math.max(...affected), format: read.format }
}

const RIGHT = { code: 0, doubts: [], requests: 400, keys: 20, affected: 1 }

interface Row {
  readonly lineOf: LineOf
  readonly head?: readonly string[]
  readonly format?: string
  readonly args?: readonly string[]
}

const trusted = ['--trusted', PROXY]
const key = ['--key', 'header.x-forwarded-for']
const listed: LineOf = (asked) => forms.nginxJson(forms.forged(asked))(asked)
const cloudflare: LineOf = (asked) =>
  forms.nginxJson(PROXY, { http_cf_connecting_ip: asked.ip })(asked)
const main = forms.main(PROXY, forms.forged)

const READ: Readonly<Record<string, Row>> = {
  'nginx, Combined': { lineOf: forms.nginx },
  'Apache, Common': { lineOf: forms.common },
  'Apache, vhost_combined': { lineOf: (asked) => `a.example:80 ${forms.nginx(asked)}` },
  'Apache, a virtual host without a port': {
    lineOf: (asked) => `a.example ${forms.common(asked)}`,
  },
  'nginx, an address as the virtual host': {
    lineOf: (asked) => `127.0.0.1 ${forms.nginx(asked)}`,
  },
  'nginx, times in ISO 8601': { lineOf: forms.isoCombined },
  'nginx, main, without a proxy': { lineOf: (asked) => `${forms.nginx(asked)} "-"` },
  'morgan, combined, with clients that went away': { lineOf: forms.morgan },
  'morgan, times in ISO 8601': { lineOf: forms.morganIso },
  'HAProxy, option httplog clf': { lineOf: forms.haproxyClf },
  'Traefik, CLF': { lineOf: forms.traefikClf },
  'ingress-nginx of old': { lineOf: forms.ingress },
  stern: { lineOf: (asked) => `web-7d9f5c-x2x nginx ${forms.nginx(asked)}` },
  'pino-http': { lineOf: forms.pino(undefined), format: 'pino' },
  Fastify: { lineOf: forms.fastify, format: 'pino' },
  'nginx, JSON': { lineOf: forms.nginxJson(undefined), format: 'json' },
  'nginx, JSON, with a duration of a usual name': {
    lineOf: forms.nginxJson(undefined, { msec: 12.5 }),
    format: 'json',
  },
  Caddy: { lineOf: forms.caddy, format: 'json' },
  Traefik: { lineOf: forms.traefik, format: 'json' },
  'Google Cloud': { lineOf: forms.googleCloud, format: 'json' },
  'AWS, Application Load Balancer': { lineOf: forms.alb, format: 'alb' },
  CloudFront: { lineOf: forms.cloudFront, head: forms.CLOUDFRONT, format: 'w3c' },
  IIS: { lineOf: forms.iis, head: forms.IIS, format: 'w3c' },
  'nginx, main, with --trusted': { lineOf: main, args: trusted },
  'nginx, main, with --trusted and the header': { lineOf: main, args: [...trusted, ...key] },
  'ingress-nginx behind a proxy, with --trusted': { lineOf: forms.ingressBehind, args: trusted },
  'a header in place of the address, with --trusted': { lineOf: forms.headerFirst, args: trusted },
  'nginx, main, with other addresses of the same networks': {
    lineOf: forms.main(PROXY, ({ ip, number }) => `2001:db8:0:${ip.slice(10)}00::${number}`),
    args: [...trusted, ...key],
  },
  'JSON with all fields in one called log': {
    lineOf: ({ ip, timeUs }) => JSON.stringify({ log: { ip, time: timeUs / 1e6 } }),
    args: ['--fields', 'time=log.time,ip=log.ip'],
    format: 'json',
  },
  'pino-http behind a proxy, with --trusted': {
    lineOf: forms.pinoBehind,
    args: trusted,
    format: 'pino',
  },
  'JSON with a list as its address, with --trusted': {
    lineOf: listed,
    args: trusted,
    format: 'json',
  },
  'JSON with the header of Cloudflare': {
    lineOf: cloudflare,
    args: ['--key', 'header.cf-connecting-ip'],
    format: 'json',
  },
}

test.each(Object.entries(READ))('%s: is read', async (_, { lineOf, head = [], format, args }) => {
  const lines = [...head, ...ASKED.map(lineOf)]
  expect(await simulated(lines, args)).toEqual({ ...RIGHT, format: format ?? 'clf' })
})

describe.each(Object.entries(AROUND))('%s', (_, around) => {
  test.each([
    ['lines of nginx', forms.nginx, 'clf'],
    ['lines of pino', forms.pino(undefined), 'pino'],
    ['JSON of nginx', forms.nginxJson(undefined), 'json'],
  ] as const)('around %s is taken off', async (__, lineOf, format) => {
    // A server says other things first.
    const noise = ASKED.slice(0, 9).map((asked) => around('ready for start up', asked))
    const lines = ASKED.map((asked) => around(lineOf(asked), asked))
    expect(await simulated([...noise, ...lines])).toEqual({ ...RIGHT, format })
  })
})

const one = `Most requests come from ${PROXY}, probably a proxy.`
const known = `Most requests come from ${PROXY}, which is trusted.`
const three = 'Most requests come from 10.0.0.1, 10.0.0.2, 10.0.0.3, probably proxies.'
const unlogged =
  'The log does not have the header in which clients are named: log it, as "$http_x_forwarded_for" ' +
  "in nginx's format main."
const single = 'If it is one client, give --trusted loopback.'
const lists =
  'Requests have lists of addresses as their keys. A client can write all of such a list but its ' +
  'end, and so take another key for each request. Name your proxies: --trusted private, or their ' +
  'networks.'

const ofFields = (fields: string) => ['--fields', fields]
const DOUBTED: Readonly<Record<string, Row & { readonly doubt: string }>> = {
  'nginx, Combined, behind a proxy': {
    lineOf: forms.through(PROXY),
    doubt: `${one} ${unlogged} ${single}`,
  },
  'nginx, Combined, behind a trusted proxy': {
    lineOf: forms.through(PROXY),
    args: trusted,
    doubt: `${known} ${unlogged}`,
  },
  'nginx, main, behind a proxy': {
    lineOf: main,
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'nginx, main, with another proxy as the trusted one': {
    lineOf: main,
    args: ['--trusted', 'loopback'],
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'nginx, main, behind several proxies': {
    lineOf: (asked) => forms.main(`198.18.0.${1 + (asked.number % 30)}`, forms.forged)(asked),
    doubt:
      'Most requests were sent on by proxies and count by their addresses: the header ' +
      'x-forwarded-for has others. Give --trusted with their networks.',
  },
  'nginx, main, in which half of the requests have a junk header': {
    lineOf: forms.main(PROXY, (asked) => (asked.number % 2 === 0 ? asked.ip : 'junk')),
    args: trusted,
    doubt: `${known} ${unlogged}`,
  },
  'pino-http, with the proxy as the key': {
    lineOf: forms.pinoBehind,
    args: ['--key', 'req.remoteAddress'],
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'pino-http behind three proxies': {
    lineOf: (asked) => forms.pino(`10.0.0.${1 + (asked.number % 3)}`)(asked),
    doubt: `${three} ${unlogged} If these are clients, give --trusted loopback.`,
  },
  'nginx, main, with the header alone': { lineOf: main, args: key, doubt: lists },
  'pino-http behind a proxy': {
    lineOf: forms.pinoBehind,
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'ingress-nginx behind a proxy': {
    lineOf: forms.ingressBehind,
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'JSON behind Cloudflare': {
    lineOf: cloudflare,
    doubt: `${one} Give --key header.cf-connecting-ip.`,
  },
  'a header in place of the address': { lineOf: forms.headerFirst, doubt: lists },
  'JSON with a list as its address': { lineOf: listed, doubt: lists },
  'JSON with a list as the named key': {
    lineOf: listed,
    args: ofFields('key=remote_addr'),
    doubt: lists,
  },
  'JSON with a list as a field': {
    lineOf: listed,
    args: ['--key', 'remote_addr+status'],
    doubt: lists,
  },
  'JSON with a proxy as the named key': {
    lineOf: forms.pinoBehind,
    args: ofFields('key=req.remoteAddress'),
    doubt: `${one} Give --trusted ${PROXY}.`,
  },
  'JSON without an address': {
    lineOf: ({ timeUs }) => JSON.stringify({ time: timeUs / 1e6, client: { address: 'a' } }),
    doubt:
      'No request was decided on, so the log says nothing about limits: no line has a key. Name ' +
      'the field that has it: --fields key=NAME, without --key.',
  },
  'Combined without a user': {
    lineOf: forms.nginx,
    args: ['--key', 'user'],
    doubt:
      'No request was decided on, so the log says nothing about limits: give --key with a key that ' +
      'the log has, such as user, host or header.x-api-key.',
  },
}

test.each(Object.entries(DOUBTED))('%s: is doubted', async (_, { lineOf, args, doubt }) => {
  const { code, doubts } = await simulated(ASKED.map(lineOf), args)
  expect({ code, doubts }).toEqual({ code: 1, doubts: [doubt] })
})

const word = (first: string) =>
  `100 % of the requests have no address, nor the name of a host, where the client's address should ` +
  `be; the first has: ${first}; cut off what stands before it, leave such lines out, or say who is limited with --key`
const unread = (why: string, first: string) =>
  `none of 400 lines could be read as clf; line 1 has ${why}: ${first}; give the Combined Log ` +
  'Format (morgan: combined, HAProxy: option httplog clf) or JSON'

const REFUSED: Readonly<Record<string, readonly [LineOf, string]>> = {
  'a level': [
    (asked) => `INFO - ${forms.nginx(asked)}`,
    unread(
      'no address, nor the name of a host, before " - "',
      'INFO - 203.0.113.1 - - [29/Nov/2026:15:00:00 +0000] "GET /a?b=0 HTTP/1.1" 200 5 "-" "curl/8.5.0"',
    ),
  ],
  'a socket': [forms.through('unix:'), word('unix:')],
  'a container': [forms.through('web-1'), word('web-1')],
  'a number of the request': [
    (asked) => forms.through(`a1b2c3${asked.number}`)(asked),
    word('a1b2c30'),
  ],
  'JSON with a socket': [forms.nginxJson('unix:'), word('unix:')],
  'HAProxy, option httplog': [
    forms.haproxyHttp,
    unread(
      'no time in brackets before the quoted request',
      '203.0.113.1:46958 [29/Nov/2026:15:00:00.164] plain plain/<NOSRV> 0/-1/-1/-1/0 200 49 - - LR-- 1/1/0/…',
    ),
  ],
  'morgan, tiny': [
    forms.morganTiny,
    unread('no address, time in brackets and quoted request', 'GET /a?b=0 200 5 - 0.599 ms'),
  ],
}

test.each(Object.entries(REFUSED))('%s: is refused', async (_, [lineOf, message]) => {
  await expect(simulated(ASKED.map(lineOf))).rejects.toThrow(message)
})

test('a few lines with something else in place of an address are left out', async () => {
  const lines = ASKED.map(forms.nginx)
  const odd = ASKED.slice(0, 4).map(forms.through('unix:'))
  expect(await simulated([...lines, ...odd])).toMatchObject(RIGHT)
  const more = [...lines, 'unlike a request', ...odd, ...odd.slice(0, 1)]
  await expect(simulated(more)).rejects.toThrow(/^2 % of the requests have no address.*unix:/)
})

test('the log of a proxy is no reason to set a limit', async () => {
  const log = files.write('suggest.log', ASKED.map(forms.through(PROXY)).join('\n'))
  const { code, out } = await weir('suggest', [log, '--windows', '1m'])
  expect(code).toBe(1)
  expect(out.split('\n')[2]).toBe(`${one} ${unlogged} ${single}`)
  expect(out).not.toContain('Set ')
})

test.each(['', '\n\r\n', '\ufeff'])('a log without requests, %j, says nothing', async (text) => {
  expect(await simulated([text])).toMatchObject({
    code: 1,
    doubts: ['No request was decided on, so the log says nothing about limits.'],
  })
})

test('what the first thousands of requests have is not taken for the rest', async () => {
  const often = [...ASKED, ...ASKED, ...ASKED, ...ASKED]
  const checks = often.map((asked) => forms.main('10.0.0.9', () => asked.ip)(asked))
  const others = Array.from({ length: 4 }, () => often.map(forms.nginx)).flat()
  expect(await simulated([...checks, ...others])).toMatchObject({ code: 0, doubts: [], keys: 21 })
  expect(await simulated([...others.slice(0, 1_600), ...checks, ...checks])).toMatchObject({
    code: 1,
    doubts: [expect.stringContaining('were sent on by proxies')],
  })
})

test('lines of two formats are refused, unless one is given', async () => {
  const lines = ASKED.map((asked) => (asked.number < 200 ? forms.nginx : forms.alb)(asked))
  await expect(simulated(lines)).rejects.toThrow(
    '200 of 400 lines are requests in another format than clf; give one format, or --format clf ' +
      'to leave the others out',
  )
  expect(await simulated(lines, ['--format', 'clf'])).toMatchObject({ code: 0, requests: 200 })
})

/** The options of a hint. */
function hintsIn(doubt: string): string[] {
  const options = /--(?:trusted [\w.,/]*\w|key header\.[\w-]+)/g
  return (doubt.match(options) ?? []).filter((hint) => !/ with$|api-key/.test(hint))
}

test.each(
  Object.entries(DOUBTED).flatMap(([name, { lineOf, args = [], doubt }]) =>
    hintsIn(doubt).map((hint) => [name, hint, lineOf, args] as const),
  ),
)('%s: with %s it is not refused', async (_, hint, lineOf, args) => {
  const others = args.filter((_arg, i) => !args.includes('--trusted') || i > 1)
  const { code, keys } = await simulated(ASKED.map(lineOf), [...others, ...hint.split(' ')])
  expect([code, keys > 0]).toEqual([0, true])
})
