// A slot of the worker's Cluster that is on its way from one master to another.

import { openConnection } from '@weir/testkit'
import { clusterClient } from './clients.js'

type Node = ReturnType<typeof openConnection>

export interface MovingSlot {
  readonly slot: number
  readonly from: Node
  readonly to: Node
  readonly toPort: number
  /** Deletes the slot's keys, and ends the move. */
  stay(): Promise<void>
}

/** @param tag what the slot is that of */
export async function movingSlot(tag: string): Promise<MovingSlot> {
  const slot = (await clusterClient().cluster('KEYSLOT', tag)) as number
  const masters = clusterClient().nodes('master')
  const [owner] = clusterClient().slots[slot] as string[]
  const ports = masters.map(({ options: { port } }) => port as number)
  const fromPort = Number(owner?.split(':')[1])
  const toPort = ports.find((port) => port !== fromPort) as number
  const [from, to] = [openConnection(fromPort), openConnection(toPort)]
  const [fromId, toId] = await Promise.all(
    [from, to].map((node) => node.command('CLUSTER', 'MYID')),
  )
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(fromId))
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(toId))
  return {
    ...{ slot, from, to, toPort },
    async stay() {
      for (const node of [from, to]) {
        const names = (await node.command('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[]
        for (const name of names) {
          if (node === to) await node.command('ASKING')
          await node.command('DEL', name)
        }
        await node.command('CLUSTER', 'SETSLOT', slot, 'STABLE')
        node.close()
      }
    },
  }
}
