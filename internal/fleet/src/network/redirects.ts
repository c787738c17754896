// A command on its way through a simulated Cluster client. As in ioredis, it goes to the node that
// serves its slot, follows redirections, and is sent again when a connection has ended. So a
// command whose reply is lost may run twice.

import type { Send } from '../../../../packages/core/src/redis/connection.js'
import { slotOfKey } from '../redis/cluster-node.js'
import type { Host } from '../world/host.js'
import type { Pool } from './cluster-pool.js'
import type { ClusterSlots } from './cluster-slots.js'
import { CLOSED, type Link } from './link.js'

/** From the recommended options. */
const RETRY_US = 10_000
const MOST_REDIRECTIONS = 4

/** The reply of a node to a call that is not for it, or not at the moment. */
export const REDIRECTION: RegExp = /^(MOVED|ASK|TRYAGAIN)\b/

export interface RedirectOptions {
  readonly host: Host
  readonly pool: Pool
  readonly slots: ClusterSlots
  readonly isReady: () => boolean
}

/** A command that is not answered yet. */
interface Journey {
  readonly command: string
  readonly args: string[]
  readonly slot: number | undefined
  readonly resolve: (reply: unknown) => void
  readonly reject: (error: Error) => void
  /** How many more failures it may have; undefined if it has had none. */
  left: number | undefined
}

export function redirecting(options: RedirectOptions): Send {
  const { host, pool, slots, isReady } = options
  const tryAgain = delayed(host, (go) => go())
  const afterRefresh = delayed(host, (go) => slots.refresh(go))

  function begin(journey: Journey, link: Link | undefined, isAsking: boolean): void {
    const { command, args, resolve } = journey
    const to = link ?? pool.sample()
    const failed = (error: Error): void => handle(journey, error)
    if (!isReady() || to === undefined) failed(new Error("Cluster isn't ready"))
    else if (to.status !== 'ready' && to.status !== 'wait') failed(new Error(CLOSED))
    else to.send(command, args, isAsking).then(resolve, failed)
  }

  /** Sends it to the node of its slot. */
  function toNode(journey: Journey): void {
    const { slot } = journey
    const name = slot === undefined ? undefined : slots.masterOf(slot)
    begin(journey, name === undefined ? undefined : pool.get(name), false)
  }

  function handle(journey: Journey, error: Error): void {
    const { reject } = journey
    journey.left = journey.left === undefined ? MOST_REDIRECTIONS : journey.left - 1
    if (journey.left <= 0) {
      reject(new Error(`Too many Cluster redirections. Last error: ${error}`))
      return
    }
    const [what, slot, name = ''] = error.message.split(' ')
    const toAny = (): void => begin(journey, undefined, false)
    if (what === 'MOVED') {
      slots.moved(Number(slot), name)
      toNode(journey)
      slots.refresh()
    } else if (what === 'ASK') begin(journey, pool.to(name), true)
    else if (what === 'TRYAGAIN') tryAgain(toAny)
    else if (error.message === CLOSED && isReady()) afterRefresh(toAny)
    else reject(error)
  }

  return (command, args) =>
    new Promise((resolve, reject) => {
      const key = args[2]
      const slot = key === undefined ? undefined : slotOfKey(key)
      toNode({ command, args, slot, resolve, reject, left: undefined })
    })
}

/** Delays commands: all that come in the meantime continue together. */
function delayed(host: Host, before: (go: () => void) => void): (go: () => void) => void {
  let waiting: (() => void)[] = []
  return (go) => {
    waiting.push(go)
    if (waiting.length > 1) return
    host.run(RETRY_US, () =>
      before(() => {
        const all = waiting
        waiting = []
        for (const each of all) each()
      }),
    )
  }
}
