// What the documents and pages of this repository say of an algorithm, in `repository.ts` of its
// folder. No package contains it.

export interface AlgorithmInRepository {
  /** By the names of factories. */
  readonly policies: Readonly<Record<string, PolicyInRepository>>
}

export interface PolicyInRepository {
  /** Options of its other forms, for stories of the fleet, by their names there. */
  readonly forms?: Readonly<Record<string, Options>> | undefined
  /** The options of its picture: ten a minute, or what comes near. Undefined: it has a picture of
   *  another kind. */
  readonly picture?: Options | undefined
  /** Its row in docs/algorithms.md, "What each promises"; policies may share one. Undefined: it has
   *  a page of its own. */
  readonly promise?: Promised | undefined
  /** What the playground shows of it. Undefined: nothing. */
  readonly cards?: readonly Card[] | undefined
}

type Options = Readonly<Record<string, unknown>>

export interface Promised {
  /** The most that passes, as a formula of the limit, L. */
  readonly passes: string
  /** What the formula is about, in an example. */
  readonly example?: string
  /** The sum that the bound is, for a limit. */
  readonly terms: (limit: number) => string
  /** How exact it is. */
  readonly exact: string
}

/** One form of a policy. */
export interface Card {
  readonly title: string
  /** What it does, in a sentence. */
  readonly says: string
  readonly options: (numbers: Numbers) => Options
  /** Whether its windows begin on the clock's. */
  readonly isOnClock?: boolean
}

/** What somebody sets on the page. */
export interface Numbers {
  readonly limit: number
  readonly window: string
  /** The capacity of buckets. */
  readonly burst: number
}
