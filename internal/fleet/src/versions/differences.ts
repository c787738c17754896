// What an earlier version is known to do differently on purpose, and why, by commit. Everything
// else must agree. README.md has the same list, and a test compares them.

interface Difference {
  /** The name of the check that finds it. */
  readonly check: string
  readonly problem: RegExp
  readonly why: string
}

export const DIFFERENCES: Readonly<Record<string, readonly Difference[]>> = {
  '2d54f0d': [
    {
      check: 'walks',
      problem: /:mark:\n {4}earlier: \["string","0:\d+","ends"\]\n {4}present: nothing/,
      why: 'Where the clock has stepped back, a refund that gave nothing back leaves no mark.',
    },
    {
      check: 'walks',
      // A settlement that charges, and the answer to the next request.
      problem: /"mode":"settle","costs":\[[^\n]*[1-9][^\n]*\n[^\n]*\n {2}which is answered:\n/,
      why: 'A settlement above its estimate shows a loss, which is then restored; it hid the loss.',
    },
    {
      check: 'names of keys',
      // The key with 257 characters, by its hash as text, or by the secret hash of that.
      problem:
        /"(:\{#|:\{hiolP9OG9gXat46BPNsmCA|:\{t\d+\}:[\w.-]+:[\w.-]+:(#|hiolP9OG9gXat46BPNsmCA))/,
      why: 'A key of more than 256 characters is counted by its SHA-256 in every store.',
    },
    {
      check: 'conformance',
      problem: /^settings: /,
      why: 'Each change of live policies has an id, processes report, and restoring is safe.',
    },
    {
      check: 'live policies',
      problem: /live\.remove is not a function/,
      why: 'The method `remove` was called `removeOverride`.',
    },
  ],
  // 0.2.0
  '07e6dae': [
    {
      check: 'conformance',
      problem: /^trace (sliding-counter: .*2000ms restore 5|sliding-log: .*600ms consume 2):/,
      why: 'A restore adds what is missing of what was seen, also in the next window.',
    },
  ],
}

/** Whether this problem is known for the version. */
export function isKnown(commit: string, check: string, problem: string): boolean {
  const listed = Object.entries(DIFFERENCES).find(([of]) => commit.startsWith(of))?.[1] ?? []
  return listed.some((each) => each.check === check && each.problem.test(problem))
}
