// Passes the branch of the next version from the job that makes it to the job that proposes it.

export const BRANCH = 'next-version'

/** A git bundle of the branch's only commit. */
export const BUNDLE = 'next-version.bundle'

/** The changesets in the branch, one path on each line. If it is empty, there is no bundle. */
export const PENDING = 'changesets.txt'
