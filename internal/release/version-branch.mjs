// The branch of the next version, on its way from the job that makes it to that which proposes it.

export const BRANCH = 'next-version'

/** A git bundle of the branch's one commit. */
export const BUNDLE = 'next-version.bundle'

/** The changesets that the branch takes up, a path a line; empty: there is no bundle. */
export const PENDING = 'changesets.txt'
