// The versions that are tested to show that they are supported. A test compares them with
// docs/versions.md.

/** Majors of Node.js. The first one is no longer maintained, and support for it ends with 1.0. */
export const NODES = ['20', '22', '24', '26']
/** Majors of ioredis. */
export const IOREDIS = ['6', '5']
