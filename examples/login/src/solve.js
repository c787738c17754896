// @ts-check
// node src/solve.js CHALLENGE: prints the solution of a challenge, for a request by hand.

import { solutionOf } from './challenge.js'

const challenge = process.argv[2] ?? ''
console.log(JSON.stringify({ challenge, solution: solutionOf(challenge) }).slice(1, -1))
