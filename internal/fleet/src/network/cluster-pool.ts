// The connections of a simulated Cluster client, one for each node that it knows. As in ioredis, a
// connection is made at the first call to the node, and forgotten when it ends.
import type { Random } from '@weir/testkit/virtual-time'
import type { SimulatedCluster } from '../redis/cluster.js'
import type { Host } from '../world/host.js'
import { Link } from './link.js'
import { type Direction, type Latency, Way } from './wire.js'

interface Ways {
  readonly there: Way
  readonly back: Way
}

/** The network between the process and a node. */
interface Route {
  readonly ways: Ways
  /** For the connection that asks for the slots. */
  readonly aside: Ways
}

export interface PoolOptions {
  readonly host: Host
  readonly random: Random
  readonly cluster: SimulatedCluster
  readonly latency: Latency
  /** Called when the last connection has ended. */
  readonly drained: () => void
}

export class Pool {
  readonly there: Direction
  readonly back: Direction
  readonly #options: PoolOptions
  readonly #routes: ReadonlyMap<string, Route>
  readonly #links: Map<string, Link> = new Map()
  readonly #replicas: Set<string> = new Set()

  constructor(options: PoolOptions) {
    const { host, random, cluster, latency } = options
    this.#options = options
    const way = (): Way => new Way(host.world, random.fork(), latency)
    const ways = (): Ways => ({ there: way(), back: way() })
    this.#routes = new Map(
      cluster.machines.map(({ name }) => [name, { ways: ways(), aside: ways() }]),
    )
    const routes = [...this.#routes.values()]
    const all = routes.flatMap((route) => [route.ways, route.aside])
    this.there = together(all.map(({ there }) => there))
    this.back = together(all.map(({ back }) => back))
  }

  get names(): string[] {
    return [...this.#links.keys()]
  }

  get(name: string): Link | undefined {
    return this.#links.get(name)
  }

  /** The connection to a node, which may be new to the client. */
  to(name: string, isReplica: boolean = false): Link {
    if (isReplica) this.#replicas.add(name)
    else this.#replicas.delete(name)
    const known = this.#links.get(name)
    if (known !== undefined) return known
    const { host } = this.#options
    const link = this.#linkTo(name, 'ways', () => {
      if (this.#links.get(name) === link) this.#links.delete(name)
      host.run(0, () => this.#checkDrained())
    })
    this.#links.set(name, link)
    return link
  }

  /** A separate connection to a node, which asks for the slots. */
  aside(name: string): Link {
    return this.#linkTo(name, 'aside')
  }

  /** A random connection, to a master if the client knows one. */
  sample(): Link | undefined {
    const masters = this.names.filter((name) => !this.#replicas.has(name))
    const names = masters.length > 0 ? masters : this.names
    return names.length === 0 ? undefined : this.get(this.#options.random.pick(names))
  }

  /** Keeps connections to these nodes only. */
  reset(masters: readonly string[], replicas: readonly string[]): void {
    for (const name of this.names) {
      if (masters.includes(name) || replicas.includes(name)) continue
      this.#links.get(name)?.end('the node holds no slot')
    }
    for (const name of masters) this.to(name)
    for (const name of replicas) this.to(name, true)
  }

  /** Breaks all present connections, or only the one to a node. */
  break(why: string, name?: string): void {
    for (const link of [...this.#links.values()]) {
      const isMeant = name === undefined || link.machine.name === name
      if (isMeant && link.status !== 'wait') link.end(why)
    }
  }

  #linkTo(name: string, which: keyof Route, ended?: () => void): Link {
    const { host, cluster, latency } = this.#options
    const { there, back } = (this.#routes.get(name) as Route)[which]
    const machine = cluster.named(name)
    return new Link({ host, machine, there, back, latency, ended })
  }

  #checkDrained(): void {
    if (this.#links.size === 0) this.#options.drained()
  }
}

function together(ways: readonly Way[]): Direction {
  const [first] = ways as readonly [Way]
  return {
    get latency() {
      return first.latency
    },
    set latency(latency) {
      for (const way of ways) way.latency = latency
    },
    cut() {
      for (const way of ways) way.cut()
    },
    heal() {
      for (const way of ways) way.heal()
    },
  }
}
