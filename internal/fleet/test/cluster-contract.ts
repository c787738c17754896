// What a Connection (packages/core/src/redis/connection.ts) to a Cluster promises, as tests.

import { describe, expect, test } from 'vitest'
import { SLOTS, slotOf } from '../../../packages/core/src/redis/transport/hash-slot.js'
import { giveBack, take, taken, teach, upTo } from './contract-calls.js'
import {
  isReady,
  type Open,
  opener,
  type Subject,
  type SubjectOptions,
} from './contract-subject.js'

/** A connection to a Cluster of three masters, which seems to exist for this test only. */
export interface ClusterSubject extends Subject {
  /** Moves a slot with its keys to another master, without telling the client. Resolves to the
   *  master's name. */
  move(slot: number): Promise<string>
  /** Begins to move a slot with all of its keys, and does not end the move. */
  beginMove(slot: number): Promise<void>
  /** Stops a node until `release`, and no other; its network continues. */
  holdUp(node: string): void
  release(): Promise<void>
  /** Breaks the connection to a node. Resolves once the client has noticed. */
  breakConnection(node: string): Promise<void>
}

/** Declares the tests of the contract for a kind of connection. */
export function clusterContract(name: string, open: Open<ClusterSubject>): void {
  const begun = opener(open)

  const nodeOf = ({ connection }: ClusterSubject, key: string) =>
    connection.nodeOf(slotOf(key)) as string

  /** Keys of one node, or those of all others. */
  function keysOn(subject: ClusterSubject, node: string, isThere: boolean = true): string[] {
    const keys = upTo(100).map((i) => `k${i}`)
    return keys.filter((key) => (nodeOf(subject, key) === node) === isThere)
  }

  /** Connected to each node, all of which know the script. */
  async function connected(options: Partial<SubjectOptions> = {}): Promise<ClusterSubject> {
    const subject = await begun(options)
    const { connection, settle, until } = subject
    await until(() => isReady(subject))
    const nodes = new Set(upTo(SLOTS).map((slot) => connection.nodeOf(slot - 1) as string))
    for (const node of nodes) {
      const [key] = keysOn(subject, node) as [string]
      await settle(teach(connection.call, key))
    }
    return subject
  }

  describe(name, () => {
    test('reports that it leads to a Cluster, and which node serves each slot', async () => {
      const subject = await begun()
      const { connection, until } = subject
      const { isCluster, keyPrefix, database } = connection
      const expected = { isCluster: true, keyPrefix: '', database: 0 }
      expect({ isCluster, keyPrefix, database }).toEqual(expected)
      expect(connection.nodeOf(0)).toBe(undefined)
      await until(() => isReady(subject))
      const slots = upTo(SLOTS).map((slot) => connection.nodeOf(slot - 1))
      expect(slots).not.toContain(undefined)
      expect(new Set(slots).size).toBe(3)
    })

    test('is ready when it knows the nodes; before that, it refuses commands and queues none', async () => {
      const subject = await begun()
      const { connection, settle, until } = subject
      expect(connection.unready()).toMatch(/./)
      const attempt = connection.attempt() as Promise<void>
      const asked = [take(connection.call, 'u')]
      connection.inOneWrite('unknown', [1], (_, send) => asked.push(take(send, 'u')))
      const refused = { status: 'rejected', reason: expect.any(Error) }
      expect(await settle(Promise.allSettled(asked))).toEqual([refused, refused])
      expect(await settle(attempt)).toBe(undefined)
      await until(() => isReady(subject))
      expect(connection.attempt()).toBe(undefined)
      await settle(teach(connection.call, 'u'))
      expect(await settle(taken(connection.call, 'u'))).toBe(0)
    })

    test('is not ready when no node answers, and its attempt to connect ends', async () => {
      const subject = await begun({ isDown: true })
      const { connection, settle } = subject
      expect(await settle(connection.attempt() as Promise<void>)).toBe(undefined)
      expect(connection.unready()).toMatch(/./)
      expect(connection.nodeOf(0)).toBe(undefined)
    })

    describe('commands', () => {
      test('go to the nodes of their keys, and run there in order, each once', async () => {
        const { connection, settle } = await connected()
        const keys = ['a', 'b', 'c', 'd', 'e', 'f']
        const sent = upTo(20).map(() => keys.map((key) => take(connection.call, key)))
        const replies = await settle(Promise.all(sent.flat()))
        expect(replies).toEqual(upTo(20).flatMap((i) => keys.map(() => i)))
      })

      test('of one write to a node are asked for in order, before it returns, and run in order', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        const replies = [take(connection.call, 'u')]
        for (const items of [upTo(10), [1], []]) {
          const asked: number[] = []
          connection.inOneWrite(nodeOf(subject, 'u'), items, (item, send) => {
            asked.push(item)
            replies.push(take(send, 'u'))
          })
          expect(asked).toEqual(items)
          replies.push(take(connection.call, 'u'))
        }
        expect(await settle(Promise.all(replies))).toEqual(upTo(15))
      })

      test('reach their node even if the client does not know it', async () => {
        const { connection, settle } = await connected()
        const replies: Promise<number>[] = []
        connection.inOneWrite('unknown', ['a', 'b', 'c', 'd'], (key, send) =>
          replies.push(take(send, key)),
        )
        expect(await settle(Promise.all(replies))).toEqual([1, 1, 1, 1])
      })

      test('wait for a node that is being connected, whatever other nodes do', async () => {
        // The client has asked one node for the state of the Cluster, and has not asked the others.
        for (const key of ['a', 'b', 'c']) {
          const subject = await begun()
          const { connection, settle, until } = subject
          await until(() => isReady(subject))
          const node = nodeOf(subject, key)
          const others = new Set(upTo(100).map((i) => nodeOf(subject, `k${i}`)))
          others.delete(node)
          for (const other of others) subject.holdUp(other)
          const replies: Promise<unknown>[] = []
          for (const items of [upTo(2), upTo(2)])
            connection.inOneWrite(node, items, (_, send) => replies.push(teach(send, key)))
          await settle(Promise.all(replies))
          await subject.release()
        }
      })

      test('that name a script which only another node knows are refused', async () => {
        const subject = await begun()
        const { connection, settle, until } = subject
        await until(() => isReady(subject))
        await settle(teach(connection.call, 'u'))
        const [other] = keysOn(subject, nodeOf(subject, 'u'), false) as [string]
        const refused = settle(take(connection.call, other))
        await expect(refused).rejects.toThrow(/^NOSCRIPT/)
        expect(await settle(take(connection.call, 'u'))).toBe(1)
      })
    })

    describe('where a slot has moved', () => {
      test('commands to the old node run once on the new one, which the client then knows', async () => {
        const subject = await connected()
        const { connection, settle, until } = subject
        await settle(take(connection.call, 'u'))
        const old = nodeOf(subject, 'u')
        const to = await subject.move(slotOf('u'))
        expect(nodeOf(subject, 'u')).toBe(old)
        const replies: Promise<number>[] = []
        const [other] = keysOn(subject, old).filter((key) => key !== 'u') as [string]
        connection.inOneWrite(old, ['u', other, 'u', 'u'], (key, send) =>
          replies.push(take(send, key)),
        )
        const [first, beside, ...later] = await settle(Promise.all(replies))
        expect([first, beside, later.sort()]).toEqual([2, 1, [3, 4]])
        expect(nodeOf(subject, 'u')).toBe(to)
        // The client first assumes that the neighbours of a moved slot have moved with it.
        await until(() => nodeOf(subject, other) === old)
        expect(nodeOf(subject, 'u')).toBe(to)
        expect(await settle(take(connection.call, 'u'))).toBe(5)
        expect(await settle(take(connection.call, other))).toBe(2)
      })

      test('commands that the client sends are redirected in the same way', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        await settle(take(connection.call, 'v'))
        const to = await subject.move(slotOf('v'))
        expect(await settle(take(connection.call, 'v'))).toBe(2)
        expect(nodeOf(subject, 'v')).toBe(to)
      })
    })

    test('while a slot moves, keys that have left are requested from the other node', async () => {
      const subject = await connected()
      const { connection, settle } = subject
      const old = nodeOf(subject, 'w')
      await settle(take(connection.call, 'w'))
      await subject.beginMove(slotOf('w'))
      expect(await settle(take(connection.call, 'w'))).toBe(2)
      const replies: Promise<number>[] = []
      connection.inOneWrite(old, [1, 2, 3], (_, send) => replies.push(take(send, 'w')))
      expect((await settle(Promise.all(replies))).sort()).toEqual([3, 4, 5])
      expect(nodeOf(subject, 'w')).toBe(old)
    })

    test('while a slot moves, a call for several keys of which one is missing runs nowhere', async () => {
      const subject = await connected()
      const { connection, settle } = subject
      await settle(take(connection.call, 'x'))
      expect(await settle(giveBack(connection.call, 'x'))).toBeInstanceOf(Buffer)
      expect(await settle(take(connection.call, 'y'))).toBe(1)
      await subject.beginMove(slotOf('y'))
      const refused = settle(giveBack(connection.call, 'y'))
      await expect(refused).rejects.toThrow(/^Too many Cluster redirections/)
      expect(await settle(taken(connection.call, 'y'))).toBe(1)
    })

    describe('a node that is held up', () => {
      test('does not affect the others, nor whether the client is ready', async () => {
        const subject = await connected()
        const { connection, settle, release } = subject
        const node = nodeOf(subject, 'u')
        subject.holdUp(node)
        const held = take(connection.call, 'u')
        for (const key of keysOn(subject, node, false).slice(0, 5))
          expect(await settle(take(connection.call, key))).toBe(1)
        expect(isReady(subject)).toBe(true)
        await release()
        expect(await settle(held)).toBe(1)
      })

      test('is given up after a second, when it is asked again; no other node is', async () => {
        const subject = await connected()
        const { connection, pass, settle } = subject
        const node = nodeOf(subject, 'u')
        const [other] = keysOn(subject, node, false) as [string]
        let failed = 0
        const ask = (): Promise<number>[] => {
          const asked: Promise<number>[] = []
          connection.inOneWrite(node, [1], (_, send) => asked.push(take(send, 'u')))
          for (const each of asked)
            each.catch(() => {
              failed += 1
            })
          return asked
        }
        await settle(Promise.all(ask()))
        subject.holdUp(node)
        // The client looks every half second, so the node has been silent for that long when it
        // notices.
        await pass(600)
        const asked = ask()
        await pass(600)
        asked.push(...ask())
        expect(failed).toBe(0)
        await pass(1_100)
        asked.push(...ask())
        await settle(Promise.allSettled(asked))
        expect(failed).toBe(3)
        expect(isReady(subject)).toBe(true)
        expect(await settle(take(connection.call, other))).toBe(1)
        await subject.release()
      })
    })

    describe('when the connection to a node breaks', () => {
      test('what was sent to the node fails, and is not sent again', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        const node = nodeOf(subject, 'u')
        subject.holdUp(node)
        const asked: Promise<number>[] = []
        connection.inOneWrite(node, upTo(5), (_, send) => asked.push(take(send, 'u')))
        const ends = Promise.allSettled(asked)
        await subject.pass(50)
        await subject.breakConnection(node)
        await subject.release()
        const lost = { status: 'rejected', reason: expect.any(Error) }
        expect(await settle(ends)).toEqual(upTo(5).map(() => lost))
        expect(await settle(taken(connection.call, 'u'))).toBe(5)
      })

      test('what the client sent is sent again, and has then run twice', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        const node = nodeOf(subject, 'u')
        subject.holdUp(node)
        const asked = take(connection.call, 'u')
        await subject.pass(50)
        await subject.breakConnection(node)
        await subject.release()
        expect(await settle(asked)).toBe(2)
      })

      test('the next command restores it, and the others are left alone', async () => {
        const subject = await connected()
        const { connection, settle } = subject
        const node = nodeOf(subject, 'u')
        const [other] = keysOn(subject, node, false) as [string]
        await subject.breakConnection(node)
        expect(isReady(subject)).toBe(true)
        expect(await settle(take(connection.call, other))).toBe(1)
        expect(await settle(take(connection.call, 'u'))).toBe(1)
      })
    })
  })
}
