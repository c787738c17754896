// Generates what the Lua driver needs to know of a call's mode, from the table of modes
// (algorithms/modes.ts).

const TRAITS = ['judges', 'changes', 'takes', 'gives', 'marks', 'notes', 'settles', 'tells']

/**
 * @param {typeof import('../packages/core/src/algorithms/modes.js')} modes
 * @returns {string} a local for each trait, and `corrects`, `reserves`, `leases` and `tells_used`
 */
export function modesLuaOf({ CALL_MODES, reserves, tellsUsed }) {
  const names = Object.keys(CALL_MODES)
  const line = (name, has) => `local ${name} = ${test(names.filter(has), names)}\n`
  return [
    ...TRAITS.map((trait) => line(trait, (mode) => CALL_MODES[mode][trait])),
    line('corrects', (mode) => CALL_MODES[mode].correction !== undefined),
    line('reserves', reserves),
    line('leases', (mode) => mode === 'lease'),
    line('tells_used', tellsUsed),
  ].join('')
}

/** Tests whether the mode is one of these, with as few comparisons as possible. */
function test(some, all) {
  const others = all.filter((name) => !some.includes(name))
  return some.length <= others.length
    ? some.map((name) => `mode == '${name}'`).join(' or ')
    : others.map((name) => `mode ~= '${name}'`).join(' and ')
}
