import { expect, test } from 'vitest'
import { eventParser } from '../../src/page/stream.js'

const TEXT =
  ': hello\r\n\r\nretry: 1000\n\nevent: frame\ndata: {"a":\ndata: 1}\n\nevent: other\ndata: no\n\nevent:frame\ndata:2\nid: 7\n\n'

test('events are read wherever the text is cut', () => {
  for (let size = 1; size <= TEXT.length; size += 1) {
    const data: string[] = []
    const parse = eventParser((each) => data.push(each))
    for (let at = 0; at < TEXT.length; at += size) parse(TEXT.slice(at, at + size))
    expect(data, `pieces of ${size}`).toEqual(['{"a":\n1}', '2'])
  }
})

test('an event that has not ended yet is not read', () => {
  const data: string[] = []
  eventParser((each) => data.push(each))('event: frame\ndata: 1\n')
  expect(data).toEqual([])
})
