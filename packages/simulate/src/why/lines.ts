// The answer in lines of text.

import type { Policy } from '@weir/core'
import { kernelOf, quote } from '@weir/core/internal'
import { type Answer, hintsOf, isNew, type Judged, refusingOf, unknownsOf } from './answer.js'
import { whyText } from './live.js'
import type { Finding } from './look.js'
import { lasting, plural, policyText } from './words.js'

export function linesOf(answer: Answer): readonly string[] {
  const { limiters, live } = answer
  const hints = hintsOf(answer)
  const lines = limiters.flatMap((judged) => [
    verdict(answer, judged),
    ...judged.findings.flatMap(linesOfFinding).map((line) => `  ${line}`),
    '',
  ])
  if (hints.length > 0) lines.push(...hints, '')
  if (live !== undefined) {
    const processes = plural(live.processes, 'process', 'processes')
    lines.push(`livePolicies ${quote(live.name)}: version ${live.version}, ${processes}`)
    lines.push(...live.notes.map((note) => `  ${note}`), '')
  }
  return [...lines, 'Redis cannot tell:', ...unknownsOf(answer).map((each) => `  ${each}`)]
}

function verdict({ key, cost }: Answer, judged: Judged): string {
  const what = cost === 1 ? quote(key) : `a cost of ${cost} of ${quote(key)}`
  const [first] = refusingOf(judged)
  const limiter = `limiter ${quote(judged.name)}`
  if (first === undefined) {
    const known = isNew(judged) ? ' as a new key: nothing is stored under it' : ''
    return `${what} would pass ${limiter}${known}`
  }
  const { retryAfterMs } = first
  const where = judged.areTogether ? '' : ', where it takes this policy'
  const how = retryAfterMs === Number.POSITIVE_INFINITY ? '' : ` for ${lasting(retryAfterMs)}`
  return `${what} would be refused by ${limiter}${how}: by ${quote(first.name)}${where}`
}

function linesOfFinding(finding: Finding): readonly string[] {
  const { name, use, live, inFile } = finding
  const whose = use.key === undefined ? '' : ` of ${quote(String(use.key))}`
  const lines = [`${name}${whose}: ${outcome(finding)}`, ...state(finding)]
  lines.push(policyText(use.policy))
  if (live !== undefined) lines.push(whyText(live))
  if (inFile !== undefined) lines.push(`the file has something else: ${policyText(inFile)}`)
  const [head = '', ...others] = lines
  return [head, ...others.map((line) => `  ${line}`)]
}

function outcome({ passes, cost, limit, retryAfterMs, block }: Finding): string {
  if (limit === Number.POSITIVE_INFINITY) return 'passes, as it limits nothing'
  if (passes) return cost === 0 ? 'passes, as it costs nothing' : 'passes'
  if (retryAfterMs === Number.POSITIVE_INFINITY)
    return `refuses: a cost of ${cost} is more than its limit, ${limit}, and never passes`
  return `${block?.isBlocked ? 'blocks' : 'refuses'}, and lets it pass in ${lasting(retryAfterMs)}`
}

function state(finding: Finding): readonly string[] {
  const { use, limit, used, remaining, resetAfterMs, turns, block } = finding
  if (limit === Number.POSITIVE_INFINITY) return []
  const isHeld = kernelOf(use.policy)?.traits.isHeld
  const reset = resetAfterMs === 0 ? '' : `; ${endText(finding)} in ${lasting(resetAfterMs)}`
  const lines = [`${used} of ${limit} ${isHeld ? 'held' : 'used'}, ${remaining} left${reset}`]
  if (turns !== undefined) {
    const next = `the next turn is in ${lasting(turns.nextMs)}`
    lines.push(`${plural(turns.units, 'unit')} ahead, by turns in the queue or penalties; ${next}`)
  }
  if (block !== undefined && block.level > 0) {
    const next = nextBlock(use.policy, block.level)
    lines.push(`level ${block.level}: ${plural(block.level, 'block')} began; the next: ${next}`)
  }
  return lines
}

function endText({ use: { policy }, block }: Finding): string {
  if (block?.isBlocked) return 'the block ends'
  if (kernelOf(policy)?.traits.isHeld) return 'unless renewed, all are free'
  return 'all is forgotten'
}

/** How long the next block of a lock-out lasts. */
function nextBlock({ options }: Policy, level: number): string {
  const { block = [] } = (options ?? {}) as { block?: readonly unknown[] }
  const next = block[Math.min(level, block.length - 1)]
  return typeof next === 'number' ? lasting(next) : String(next ?? 'unknown')
}
