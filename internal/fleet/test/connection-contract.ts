// What a Connection (packages/core/src/redis/connection.ts) to one server promises, as tests.
// cluster-contract.ts has the promises for a Cluster.

import { describe, expect, test } from 'vitest'
import { argumentsFor, beat, source, take, taken, teach, upTo, usedIn } from './contract-calls.js'
import {
  isReady,
  type Open,
  opener,
  type Subject,
  type SubjectOptions,
} from './contract-subject.js'

/** A connection to a server that seems to exist for this test only. */
export interface ServerSubject extends Subject {
  /** Stops the server until `release`; its network continues. */
  holdUp(): void
  release(): Promise<void>
  /** Breaks the client's connection. Resolves when the client has noticed. */
  breakConnection(): Promise<void>
}

/** The client's name for the server, which it need not know. */
const NODE = 'redis'

/** Declares the tests of the contract for a kind of connection. */
export function connectionContract(name: string, open: Open<ServerSubject>): void {
  const begun = opener(open)

  /** Connected to a server that knows the script. */
  async function connected(options: Partial<SubjectOptions> = {}): Promise<ServerSubject> {
    const subject = await begun(options)
    await subject.until(() => isReady(subject))
    await subject.settle(teach(subject.connection.call))
    return subject
  }

  describe(name, () => {
    test('reports that it leads to one server', async () => {
      const { connection } = await begun()
      const { isCluster, keyPrefix, database, place } = connection
      expect({ isCluster, keyPrefix, database }).toEqual({
        isCluster: false,
        keyPrefix: '',
        database: 0,
      })
      expect(connection.nodeOf(0)).toBe(undefined)
      const { connection: other } = await begun({ isDown: true })
      expect(other.place).not.toEqual(place)
    })

    describe('commands', () => {
      test('run once, and are answered in the order in which they are sent, whatever the replies are', async () => {
        const { connection, settle } = await connected()
        const { call } = connection
        const answers: unknown[] = []
        // Notes each reply as it comes: a further promise would change the order.
        const note = (reply: unknown) => answers.push(reply)
        const sent = upTo(10).flatMap((i) => [
          call('evalsha', argumentsFor('consume', 'u')).then(note),
          beat(call, `p${i + 10}`).then(note),
          call('evalsha', ['none', '0']).then(undefined, note),
          call('evalsha', argumentsFor('peek', 'u')).then(note),
        ])
        await settle(Promise.all(sent))
        const told = answers.map((reply) => (Buffer.isBuffer(reply) ? usedIn(reply) : reply))
        const refusal = expect.any(Error)
        expect(told).toEqual(upTo(10).flatMap((i) => [i, [i, i - 1, 0], refusal, i]))
        expect(await settle(taken(call, 'u'))).toBe(10)
      })

      test('are refused if they name an unknown script, until EVAL has loaded it', async () => {
        const subject = await begun()
        const { connection, settle, until } = subject
        await until(() => isReady(subject))
        const refused = settle(take(connection.call, 'u'))
        await expect(refused).rejects.toThrow(/^NOSCRIPT/)
        await expect(refused).rejects.toBeInstanceOf(Error)
        const args = [source, ...argumentsFor('consume', 'u').slice(1)]
        const taught = settle(connection.call('eval', args))
        expect(usedIn(await taught)).toBe(1)
        expect(await settle(take(connection.call, 'u'))).toBe(2)
      })

      test('reject with an Error if the server refuses them; those around them are answered', async () => {
        const { connection, settle } = await connected()
        const { call } = connection
        const [first, unknown, none, last] = await settle(
          Promise.allSettled([
            take(call, 'u'),
            call('nosuchcommand', ['a']),
            call('evalsha', ['none', '0']),
            take(call, 'u'),
          ]),
        )
        expect(first).toMatchObject({ value: 1 })
        expect(unknown).toMatchObject({ reason: expect.any(Error) })
        expect(unknown).toMatchObject({ reason: { message: expect.stringMatching(/^ERR unk/) } })
        expect(none).toMatchObject({ reason: expect.any(Error) })
        expect(last).toMatchObject({ value: 2 })
        expect(connection.unready() === undefined).toBe(true)
      })
    })

    describe('inOneWrite', () => {
      test('asks for each item in order, before it returns, between what is sent before and after', async () => {
        const { connection, settle } = await connected()
        const replies = [take(connection.call, 'u')]
        for (const items of [upTo(20), [4], []]) {
          const asked: number[] = []
          connection.inOneWrite(NODE, items, (item, send) => {
            asked.push(item)
            replies.push(take(send, 'u'))
          })
          expect(asked).toEqual(items)
          replies.push(take(connection.call, 'u'))
        }
        expect(await settle(Promise.all(replies))).toEqual(upTo(25))
      })

      test('lets an item ask for nothing, or more than once', async () => {
        const { connection, settle } = await connected()
        const replies: Promise<number>[] = []
        connection.inOneWrite(NODE, [0, 3, 1], (times, send) => {
          for (let i = 0; i < times; i += 1) replies.push(take(send, 'u'))
        })
        expect(await settle(Promise.all(replies))).toEqual(upTo(4))
      })
    })

    describe('while it is not ready', () => {
      test('it reports so, until it is connected', async () => {
        const subject = await begun()
        expect(subject.connection.unready()).toMatch(/./)
        await subject.until(() => isReady(subject))
        await subject.breakConnection()
        expect(subject.connection.unready()).toMatch(/./)
        await subject.until(() => isReady(subject))
        expect(await subject.settle(beat(subject.connection.call, 'p'))).toEqual([1, 0, 0])
      })

      test('it refuses commands, and queues none for later', async () => {
        const subject = await begun()
        const { connection, settle } = subject
        const inVain = async () => {
          const asked = [take(connection.call, 'u'), beat(connection.call, 'p')]
          connection.inOneWrite(NODE, [1, 2], (_, send) => asked.push(take(send, 'u')))
          const refused = { status: 'rejected', reason: expect.any(Error) }
          expect(await settle(Promise.allSettled(asked))).toEqual(asked.map(() => refused))
        }
        await inVain()
        await subject.until(() => isReady(subject))
        await settle(teach(connection.call))
        expect(await settle(taken(connection.call, 'u'))).toBe(0)
        await subject.breakConnection()
        await inVain()
        await subject.until(() => isReady(subject))
        expect(await settle(take(connection.call, 'u'))).toBe(1)
        expect(await settle(beat(connection.call, 'q'))).toEqual([1, 0, 0])
      })
    })

    describe('when it breaks', () => {
      test('commands without a reply reject, and are not sent again', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        subject.holdUp()
        const asked = Promise.allSettled(upTo(20).map(() => take(connection.call, 'u')))
        // The server has received the commands, and runs them when it can.
        await subject.pass(50)
        await subject.breakConnection()
        const lost = { status: 'rejected', reason: expect.any(Error) }
        expect(await settle(asked)).toEqual(upTo(20).map(() => lost))
        await subject.release()
        await subject.until(() => isReady(subject))
        expect(await settle(taken(connection.call, 'u'))).toBe(20)
      })

      test('answered commands stay answered, and the others have run at most once', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        const asked = upTo(100).map(() => take(connection.call, 'u'))
        const ended = Promise.allSettled(asked)
        await settle(asked[0] as Promise<number>)
        await subject.breakConnection()
        const ends = await settle(ended)
        const values = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
        expect(values).toEqual(upTo(values.length))
        await subject.until(() => isReady(subject))
        const ran = await settle(taken(connection.call, 'u'))
        expect(ran).toBeGreaterThanOrEqual(values.length)
        expect(ran).toBeLessThanOrEqual(100)
      })

      test('no reply of the broken connection is taken for one of the next', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        for (const key of ['a', 'b', 'c']) {
          const lost = Promise.allSettled(upTo(5).map(() => take(connection.call, 'u')))
          await subject.breakConnection()
          await settle(lost)
          await subject.until(() => isReady(subject))
          expect(await settle(take(connection.call, key))).toBe(1)
          expect(await settle(take(connection.call, key))).toBe(2)
        }
      })
    })

    describe('an attempt to connect', () => {
      test('resolves when it succeeds; afterwards there is no attempt', async () => {
        const subject = await begun()
        const { connection, settle } = subject
        const attempt = connection.attempt()
        expect(attempt).toBeInstanceOf(Promise)
        expect(isReady(subject)).toBe(false)
        expect(await settle(attempt as Promise<void>)).toBe(undefined)
        expect(isReady(subject)).toBe(true)
        expect(connection.attempt()).toBe(undefined)
      })

      test('resolves when it fails', async () => {
        const subject = await begun({ isDown: true })
        const { connection, settle } = subject
        expect(await settle(connection.attempt() as Promise<void>)).toBe(undefined)
        expect(connection.unready()).toMatch(/./)
      })

      test('is reported after a break as well', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        subject.holdUp()
        await subject.breakConnection()
        // The client waits before it tries again.
        expect(connection.attempt()).toBe(undefined)
        await subject.until(() => connection.attempt() !== undefined)
        const attempt = connection.attempt() as Promise<void>
        await subject.release()
        expect(await settle(attempt)).toBe(undefined)
        await subject.until(() => isReady(subject))
        expect(connection.attempt()).toBe(undefined)
      })

      test('ends if the server never greets it and somebody asks', async () => {
        const subject = await connected()
        const { connection } = subject
        subject.holdUp()
        await subject.breakConnection()
        await subject.until(() => connection.attempt() !== undefined)
        let isOver = false
        void connection.attempt()?.then(() => {
          isOver = true
        })
        while (!isOver) {
          expect(connection.unready()).toMatch(/./)
          await subject.pass(500)
        }
        await subject.release()
        await subject.until(() => isReady(subject))
        expect(await subject.settle(beat(connection.call, 'p'))).toEqual([1, 0, 0])
      })
    })

    describe('silence', () => {
      test.each([
        { deadlineMs: 100, silenceMs: 1_000 },
        { deadlineMs: 3_000, silenceMs: 3_000 },
      ])(
        'of $silenceMs ms, with a deadline of $deadlineMs ms, ends it once it is asked again',
        async ({ deadlineMs, silenceMs }) => {
          const subject = await connected({ deadlineMs })
          const { connection, settle, pass } = subject
          // The client looks at most twice in that time.
          await pass(silenceMs / 2)
          subject.holdUp()
          let failed = 0
          const ask = () =>
            take(connection.call, 'u').catch(() => {
              failed += 1
            })
          const asked = [ask()]
          await pass(0.9 * silenceMs)
          asked.push(ask())
          await pass(0.6 * silenceMs)
          // Nobody has asked again.
          expect({ isReady: isReady(subject), failed }).toEqual({ isReady: true, failed: 0 })
          asked.push(ask())
          await settle(Promise.all(asked))
          expect(failed).toBe(3)
          expect(isReady(subject)).toBe(false)
          await subject.release()
          await subject.until(() => isReady(subject))
          expect(await settle(take(connection.call, 'v'))).toBe(1)
        },
      )

      test('is none if nothing was asked, or everything was answered', async () => {
        const subject = await connected()
        const { connection, settle, pass } = subject
        for (const used of upTo(5)) {
          await pass(10_000)
          expect(await settle(take(connection.call, 'u'))).toBe(used)
          await pass(1)
          expect(isReady(subject)).toBe(true)
        }
        connection.inOneWrite(NODE, [1], (_, send) => void beat(send, 'p'))
        await pass(10_000)
        expect(await settle(beat(connection.call, 'p'))).toEqual([1, 0, 0])
        expect(isReady(subject)).toBe(true)
      })
    })
  })
}
