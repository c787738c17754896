// The command explains wrong arguments; a long run shows its progress.
import { expect, test } from 'vitest'
import { commandOf } from '../src/command.js'
import { progressLine, progressText } from '../src/progress.js'

test('without arguments, 100,000 requests are simulated, from seed 1 on', () => {
  expect(commandOf([])).toEqual({
    write: false,
    seed: undefined,
    scenario: undefined,
    options: {},
    requests: 100_000,
    minutes: Infinity,
    first: 1,
    untilBroken: false,
    each: false,
  })
  expect(commandOf(['--minutes', '0.5'])).toMatchObject({ minutes: 0.5, requests: Infinity })
})

test('a seed, scenario and options run a story again', () => {
  const args = ['--seed', '7', '--scenario', 'restart, empty', '--options', '{"processes":3}']
  expect(commandOf(args)).toMatchObject({
    ...{ seed: 7, scenario: 'restart, empty', options: { processes: 3 } },
  })
})

test.each([
  ['--seed 1.5', /--seed must be a whole number from 0, not "1\.5"/],
  ['--seed 0x10', /--seed must be a whole number/],
  ['--first x', /--first must be a whole number/],
  ['--requests 0', /--requests must be a whole number from 1/],
  ['--minutes 0', /--minutes must be a number above 0, such as 10 or 0\.5, not "0"/],
  ['--minutes 1.2.3', /--minutes must be a number above 0/],
  ['--scenario freeze', /--scenario must be one of "well", "frozen", .*, not "freeze"/],
  ['--scenarios well', /Unknown option '--scenarios'/],
  ['--options {"keys":2}', /--options needs --seed or --scenario/],
  ['--seed 1 --options [1]', /--options must be an object in JSON/],
  ['--seed 1 --options {', /--options must be an object in JSON/],
  ['--seed 1 --options {"cats":2}', /there is no cats; there are processes, /],
  ['--seed 1 --scenario frozen --options {"processes":1}', /processes must be 2 or more/],
  ['--seed 1 --options {"keys":"2"}', /keys must be a number/],
  ['--seed 1 --options {"keys":1.5}', /keys must be whole/],
  ['--seed 1 --options {"algorithm":"cats"}', /algorithm must be one of token-bucket, /],
  ['--seed 1 --options {"limit":3,"processes":4}', /limit must be at least the number of/],
])('%s is refused, with what would be right', (text, message) => {
  expect(() => commandOf(text.split(' '))).toThrow(message)
})

test('progress shows how far a run is, how fast, and what it has found', () => {
  const progress = { seeds: 1_208, requests: 600_010, elapsedMs: 67_800, broken: 0 }
  expect(progressText(progress)).toBe(
    '1,208 seeds, 600,010 requests, 8,850 requests/s, 1:07 min, 0 broken',
  )
})

function screen(isTTY: boolean) {
  const written: string[] = []
  const progress = { seeds: 1, requests: 400, broken: 0 }
  const line = progressLine({ isTTY, write: (text) => written.push(text) })
  return { written, line, showAt: (elapsedMs: number) => line.show({ ...progress, elapsedMs }) }
}

test('on a terminal, progress is one line that is rewritten at most ten times a second', () => {
  const { written, line, showAt } = screen(true)
  for (const elapsedMs of [0, 50, 99, 100, 150]) showAt(elapsedMs)
  expect(written.map((text) => text.slice(0, 4))).toEqual(['\r\x1b[K', '\r\x1b[K'])
  expect(written.join('')).not.toContain('\n')
  line.clear()
  expect(written.at(-1)).toBe('\r\x1b[K')
})

test('without a terminal, progress prints nothing', () => {
  const { written, line, showAt } = screen(false)
  showAt(0)
  line.clear()
  expect(written).toEqual([])
})
