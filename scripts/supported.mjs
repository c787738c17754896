// What is run in turns to show that it is supported: docs/versions.md says what is, and a test
// compares the two.

/** Majors of Node.js; the first is past its end, and goes with 1.0. */
export const NODES = ['20', '22', '24', '26']
/** Majors of ioredis. */
export const IOREDIS = ['6', '5']
