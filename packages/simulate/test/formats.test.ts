import { describe, expect, test } from 'vitest'
import { formatOf, type LogEntry, type LogFormat, parserOf } from '../src/index.js'
import * as forms from './log-forms.js'
import { ASKED } from './log-forms.js'

const NOON = Date.UTC(2026, 9, 10, 12, 0, 1) * 1_000

function entryOf(format: LogFormat, text: string, fields = {}): LogEntry {
  const parsed = parserOf(format, { fields }).parse(text)
  const one = Array.isArray(parsed) ? parsed[0] : parsed
  expect(one, `${one}`).toBeTypeOf('object')
  return one as LogEntry
}

function saidBy(entry: LogEntry) {
  const { timeUs, ip, user, method, path, host, status, bytes } = entry
  return { timeUs, ip, user, method, path, host, status, bytes }
}

const COMMON = '203.0.113.7 - ann [10/Oct/2026:05:00:01 -0700] "GET /a?b=1 HTTP/1.0" 404 2326'

describe('the Common and the Combined Log Format', () => {
  test('have the client, the request, the time and the response', () => {
    expect(saidBy(entryOf('clf', COMMON))).toEqual({
      timeUs: NOON,
      ip: '203.0.113.7',
      user: 'ann',
      method: 'GET',
      path: '/a?b=1',
      host: undefined,
      status: 404,
      bytes: 2326,
    })
  })

  test('the referer and the agent of the Combined one are headers, and others are unknown', () => {
    const entry = entryOf('clf', `${COMMON} "https://a.example/" "curl/8 \\"x\\" \\\\" "more"\r`)
    expect(entry.header('Referer')).toBe('https://a.example/')
    expect(entry.header('user-agent')).toBe('curl/8 "x" \\')
    expect(entry.header('accept')).toBeUndefined()
    expect(entry.field('userAgent')).toBe('curl/8 "x" \\')
    expect(entry.field('status')).toBe(404)
    expect(entry.field('constructor')).toBeUndefined()
  })

  test("in Apache's vhost_combined, the address follows the virtual host", () => {
    const entry = entryOf('clf', `www.example.com:443 ${COMMON} "-" "curl/8.5.0"`)
    expect(saidBy(entry)).toEqual({
      ...saidBy(entryOf('clf', COMMON)),
      host: 'www.example.com',
    })
    expect(entry.field('host')).toBe('www.example.com')
  })

  test.each([
    '10.0.0.1:443',
    '2001:db8::beef',
    '[2001:db8::1]:443',
    'client.example',
    'localhost',
    '::1',
  ])('%s is not a virtual host, but the address', (ip) => {
    const entry = entryOf('clf', COMMON.replace('203.0.113.7', ip))
    expect([entry.ip, entry.host, entry.user]).toEqual([ip, undefined, 'ann'])
  })

  test('a dash means an unknown value', () => {
    const line = '2001:db8::1 - - [10/Oct/2026:12:00:01 +0000] "-" 408 - "-" "-"'
    const entry = entryOf('clf', line)
    expect(saidBy(entry)).toEqual({
      timeUs: NOON,
      ip: '2001:db8::1',
      user: undefined,
      method: undefined,
      path: undefined,
      host: undefined,
      status: 408,
      bytes: undefined,
    })
    expect(entry.header('referer')).toBeUndefined()
  })

  test('escapes of Apache and nginx are undone, and a path may have spaces', () => {
    const request = 'GET /a b\\"c\\x22\\xff HTTP/1.1'
    const { path } = entryOf('clf', `a - - [10/Oct/2026:12:00:01] "${request}" 400 0`)
    expect(path).toBe('/a b"c"ÿ')
  })

  test('a user name cannot forge a time', () => {
    const user = 'x [11/Oct/2026:12:00:01 +0000] \\"GET / HTTP/1.1\\" 200'
    const entry = entryOf('clf', COMMON.replace('ann', user))
    expect(entry.timeUs).toBe(NOON)
    expect(entry.user).toBe('x [11/Oct/2026:12:00:01 +0000] "GET / HTTP/1.1" 200')
  })
})

describe('forms of the Combined Log Format', () => {
  const line = `${COMMON} "-" "curl/8"`

  test.each([
    ['a list at the end', `${line} "198.51.100.1, 192.0.2.9"`, '198.51.100.1, 192.0.2.9'],
    ['none at the end', `${line} "-"`, undefined],
    ['another field at the end', `${line} "a.example"`, undefined],
    ['a field that does not follow at once', `${line} 1 "192.0.2.9"`, undefined],
    [
      'a list after the address',
      line.replace('- ann', '- [192.0.2.9, 203.0.113.7] - ann'),
      '192.0.2.9, 203.0.113.7',
    ],
    ['a user who looks like a list', line.replace('ann', '[192.0.2.9] - ann'), undefined],
  ])('with %s, has the header X-Forwarded-For', (_, text, header) => {
    const entry = entryOf('clf', text)
    expect([entry.header('X-Forwarded-For'), entry.user, entry.ip]).toEqual([
      header,
      'ann',
      '203.0.113.7',
    ])
  })

  test.each(['2026-10-10T05:00:01-07:00', '2026-10-10T12:00:01.000Z', `${NOON / 1e6}.000`])(
    'may have the time %s',
    (time) => {
      expect(entryOf('clf', line.replace('10/Oct/2026:05:00:01 -0700', time)).timeUs).toBe(NOON)
    },
  )

  test('a response that was not sent has no status and no size', () => {
    const { status, bytes, path } = entryOf('clf', line.replace('404 2326', '- -'))
    expect([status, bytes, path]).toEqual([undefined, undefined, '/a?b=1'])
  })

  test.each([
    '203.0.113.7 - x - y',
    '203.0.113.7 - x, 192.0.2.9 - -',
    '12:00:01 - 203.0.113.7 - -',
    'a b c.example - -',
  ])('%s has no address that is certain', (head) => {
    const text = line.replace('203.0.113.7 - ann', head)
    expect(parserOf('clf').parse(text)).toBe('no address, nor the name of a host, before " - "')
  })
})

test('the columns of AWS and IIS are fields', () => {
  const [asked] = ASKED
  const alb = entryOf('alb', forms.alb(asked as never))
  const about = { ip: '203.0.113.1:2817', user: undefined, method: 'GET', path: '/a?b=0' }
  const timeUs = Date.UTC(2026, 10, 29, 15) * 1_000
  expect(saidBy(alb)).toEqual({
    ...{ ...about, timeUs: timeUs + 116, host: 'www.example.com', status: 200, bytes: 57 },
  })
  expect([alb.header('user-agent'), alb.field('elb')]).toEqual([
    'curl/7.46.0',
    'app/my-loadbalancer/50dc6c495c0c9188',
  ])
  const { parse } = parserOf('w3c')
  const [, cloudFront] = [...forms.CLOUDFRONT, forms.cloudFront(asked as never)].map(parse).slice(1)
  expect(saidBy(cloudFront as LogEntry)).toEqual({
    ...{ ...about, ip: '203.0.113.1', timeUs, host: 'a.example', status: 200, bytes: 2390282 },
  })
  expect((cloudFront as LogEntry).header('User-Agent')).toBe('Mozilla/4.0%20(compatible)')
  expect(parse('2026-11-29')).toBe('other columns than #Fields names')
  expect(parserOf('w3c').parse('2026-11-29')).toBe('no line #Fields before it')
})

describe('JSON', () => {
  test('from nginx', () => {
    const line = JSON.stringify({
      time_iso8601: '2026-10-10T14:00:01+02:00',
      remote_addr: '203.0.113.7',
      remote_user: '-',
      request_method: 'POST',
      request_uri: '/a',
      host: 'a.example',
      status: '201',
      body_bytes_sent: '17',
      http_x_api_key: 'k1',
    })
    expect(formatOf(`${line}\n`)).toBe('json')
    const entry = entryOf('json', line)
    expect(saidBy(entry)).toEqual({
      timeUs: NOON,
      ip: '203.0.113.7',
      user: undefined,
      method: 'POST',
      path: '/a',
      host: 'a.example',
      status: 201,
      bytes: 17,
    })
    expect(entry.header('X-Api-Key')).toBe('k1')
  })

  test('from nginx with msec has fractions of a second', () => {
    const line = '{"msec":"1796472001.250","remote_addr":"203.0.113.7","request":"GET / HTTP/1.1"}'
    expect(formatOf(line)).toBe('json')
    expect(entryOf('json', line).timeUs).toBe(1_796_472_001_250_000)
  })

  test('from Caddy', () => {
    const line = JSON.stringify({
      level: 'info',
      ts: 1796472001.5241024,
      logger: 'http.log.access',
      request: {
        remote_ip: '10.0.0.1',
        client_ip: '203.0.113.7',
        proto: 'HTTP/2.0',
        method: 'GET',
        host: 'a.example',
        uri: '/a?b',
        headers: { 'User-Agent': ['curl/8'], 'X-Api-Key': ['k1', 'k2'] },
      },
      user_id: '',
      size: 10,
      status: 200,
    })
    expect(formatOf(line)).toBe('json')
    const entry = entryOf('json', line)
    expect(saidBy(entry)).toEqual({
      timeUs: 1_796_472_001_524_102,
      ip: '203.0.113.7',
      user: undefined,
      method: 'GET',
      path: '/a?b',
      host: 'a.example',
      status: 200,
      bytes: 10,
    })
    expect(entry.header('x-api-key')).toBe('k1')
    expect(entry.field('request.proto')).toBe('HTTP/2.0')
  })

  test('from Traefik and Google Cloud', () => {
    const [asked] = ASKED
    const about = { ip: '203.0.113.1', user: undefined, method: 'GET', host: 'a.example' }
    const timeUs = Date.UTC(2026, 10, 29, 15) * 1_000
    const traefik = entryOf('json', forms.traefik(asked as never))
    expect(saidBy(traefik)).toEqual({
      ...{ ...about, timeUs: timeUs + 123, path: '/a?b=0', status: 200, bytes: 5 },
    })
    expect(traefik.header('user-agent')).toBe('curl/8.5.0')
    expect(saidBy(entryOf('json', forms.googleCloud(asked as never)))).toEqual({
      ...{ ...about, timeUs, path: '/a?b=0', status: 200, bytes: 512 },
    })
  })

  test('of any kind, with the named fields', () => {
    const line = '{"ts":"2026-10-10T12:00:01Z","user":{"id":42},"tokens":7,"a.b":"dotted"}'
    const entry = entryOf('json', line, { time: 'ts', key: 'user.id', cost: 'tokens' })
    expect([entry.timeUs, entry.key, entry.cost, entry.user]).toEqual([NOON, '42', 7, '42'])
    expect(entry.field('a.b')).toBe('dotted')
    expect(entry.field('user')).toBeUndefined()
    expect(entry.field('__proto__.constructor')).toBeUndefined()
  })

  test('if an entry lacks the named cost, its cost is not a number', () => {
    const entry = entryOf('json', '{"time":1796472001}', { cost: 'tokens' })
    expect(entry.cost).toBeNaN()
    expect(entryOf('json', '{"time":1796472001}').cost).toBeUndefined()
  })
})

const HAR = {
  log: {
    entries: [
      {
        startedDateTime: '2026-10-10T12:00:01.000Z',
        request: {
          method: 'GET',
          url: 'https://a.example/a?b=1',
          headers: [{ name: 'Authorization', value: 'k1' }, null, { name: 1 }],
        },
        response: { status: 200, bodySize: 12 },
      },
      { startedDateTime: 'never' },
      null,
    ],
  },
}

test('an HTTP Archive is one document, whose entries are read one by one', () => {
  const text = JSON.stringify(HAR, undefined, 2)
  expect(formatOf(text)).toBe('har')
  const parsed = parserOf('har').parse(text) as readonly unknown[]
  expect(parsed.slice(1)).toEqual(['a time that cannot be read', 'no JSON object'])
  const entry = parsed[0] as LogEntry
  expect(saidBy(entry)).toEqual({
    timeUs: NOON,
    ip: undefined,
    user: undefined,
    method: 'GET',
    path: '/a?b=1',
    host: 'a.example',
    status: 200,
    bytes: 12,
  })
  expect(entry.header('authorization')).toBe('k1')
  expect(entry.field('request.method')).toBe('GET')
})

test('the format is that of the first line that can be read', () => {
  expect(formatOf(`broken\n\n${COMMON}\n`)).toBe('clf')
  expect(formatOf('{"broken\n{"ts":1796472001}\n')).toBe('json')
  expect(formatOf('{"ts":1796472001,"request":{}}')).toBe('json')
  expect(formatOf('')).toBe('clf')
})

test.each<[LogFormat, string, string]>([
  ['clf', 'one', 'no address, time in brackets and quoted request'],
  ['clf', ' [10/Oct/2026:12:00:01] "G" 200', 'no address, nor the name of a host'],
  ['clf', 'a - - 10/Oct/2026 "GET /" 200 1', 'no time in brackets before the quoted request'],
  ['clf', 'a[10/Oct/2026:12:00:01] "GET /" 200', 'no address, nor the name of a host'],
  ['clf', 'a - - 10/Oct/2026] "GET /" 200 1', 'no time in brackets'],
  ['clf', 'a - - [10/Oct/26:12:00:01 +0000] "GET /" 200 1', 'a time that is not like'],
  ['clf', 'a - - [10/Oct/2026:12:00:01 +0000] "GET /', 'a request without an end'],
  ['clf', 'a - - [10/Oct/2026:12:00:01 +0000] "GET /" ok', 'no status of three digits'],
  ['json', '{"a":1', 'no JSON'],
  ['json', '[1]', 'no JSON object'],
  ['json', 'null', 'no JSON object'],
  ['json', '{"a":1}', 'no time; name its field'],
  ['json', '{"time":"soon"}', 'a time that cannot be read'],
  ['json', '{"time":{"a":1}}', 'no time; name its field'],
])('%s: %s cannot be read, and it says why', (format, line, why) => {
  expect(parserOf(format).parse(line)).toContain(why)
})

test.each(['clf', 'alb', 'w3c', 'json'] as const)('%s: a blank line is ignored', (format) => {
  expect(parserOf(format).parse('')).toBeUndefined()
  expect(parserOf(format).parse('\r')).toBeUndefined()
})

test('an unknown format or field is refused', () => {
  expect(() => parserOf('xml' as 'clf')).toThrow(/format is "xml"; give auto, har, clf/)
  expect(() => parserOf('json', { fields: { when: 'ts' } as never })).toThrow(/a field is "when"/)
})
