// `weir why`: what a live Redis says about a key, and why. It only reads.

import type { PolicyUse } from '@weir/core'
import { quote } from '@weir/core/internal'
import type { CommandIo } from '../cli/command.js'
import { misuse } from '../errors.js'
import { type Answer, isNew, wouldPass } from './answer.js'
import { jsonOf } from './json.js'
import { linesOf } from './lines.js'
import { type Live, liveFor } from './live.js'
import { type Limiter, look, type Source, sourcesOf, sourcesOfLive } from './look.js'
import { HELP, type Question, questionIn } from './options.js'
import { type FileLimiter, limitersIn } from './policies.js'
import { storedOtherwise } from './renamed.js'
import type { AskedStore, StorePlace } from './tools.js'

const PASSES = 0
const REFUSED = 3

/**
 * @returns the exit code: 0 the request would pass, 3 it would be refused
 * @throws {SimulateError | StoreError} with exit code 2 if the command is misused
 */
export async function why(
  args: readonly string[],
  io: Pick<CommandIo, 'out' | 'env' | 'signal'>,
  tools: { readonly openStore: (place: StorePlace) => Promise<AskedStore> },
): Promise<number> {
  const question = questionIn(args)
  if (question === undefined) {
    io.out(HELP)
    return PASSES
  }
  const inFile = question.file === undefined ? undefined : await limitersIn(question)
  const asked = await tools.openStore(question)
  io.signal.addEventListener('abort', asked.close, { once: true })
  try {
    const answer = await answerTo(question, inFile, asked, io)
    if (question.isJson) io.out(jsonOf(answer))
    else for (const line of linesOf(answer)) io.out(line)
    return wouldPass(answer) ? PASSES : REFUSED
  } catch (error) {
    throw explained(error, asked.trouble())
  } finally {
    io.signal.removeEventListener('abort', asked.close)
    asked.close()
  }
}

async function answerTo(
  question: Question,
  inFile: readonly FileLimiter[] | undefined,
  asked: AskedStore,
  { env }: Pick<CommandIo, 'env'>,
): Promise<Answer> {
  const { key, cost, name } = question
  const policies = inFile?.flatMap(({ uses }) => uses.map(({ policy }) => policy))
  const live = name === undefined ? undefined : await liveFor(asked, name, key, policies)
  const limiters = limitersFor(question, inFile, live)
  const judged = await Promise.all(
    limiters.map(async (limiter) => {
      const findings = await look(asked.store, limiter, key, cost)
      const renamed = isNew({ findings }) ? await storedOtherwise(asked.store, limiter, key) : []
      const { name: limiterName, areTogether } = limiter
      return { name: limiterName, areTogether, findings, renamed }
    }),
  )
  return {
    ...{ key, cost, live, limiters: judged },
    isHashed: env.WEIR_HASH_KEYS !== undefined,
    isChosen: inFile?.some(({ isChosen }) => isChosen) === true,
  }
}

/** @throws {SimulateError} WEIR_INVALID_OPTION for the policy key of an unknown policy */
function limitersFor(
  question: Question,
  inFile: readonly FileLimiter[] | undefined,
  live: Live | undefined,
): readonly Limiter[] {
  const { limiter: name = 'default' } = question
  const limiters: readonly Limiter[] =
    inFile === undefined
      ? [{ name, sources: live === undefined ? [] : sourcesOfLive(live), areTogether: false }]
      : inFile.map((each) => ({
          ...{ name: each.name, areTogether: true },
          sources: sourcesOf(each.uses, live),
        }))
  const known = limiters.flatMap(({ sources }) => sources.map(({ use }) => namesOf(use)))
  for (const [option, given] of [
    ['--policy-key', question.policyKeys],
    ['--policy-tag', question.policyTags],
  ] as const) {
    const unknown = [...given.keys()].find((each) => !known.flat().includes(each))
    if (unknown === undefined) continue
    const right = `the name of a policy: ${known.map(([first]) => quote(first)).join(', ')}`
    throw misuse(option, unknown, right)
  }
  return limiters.map((each) => ({
    ...each,
    sources: each.sources.map((source) => withKeys(source, question)),
  }))
}

/** The names that a policy may have: in a limiter with a name, and in one without. */
function namesOf({ policy: { name, nameWithoutLimit } }: PolicyUse): readonly string[] {
  return nameWithoutLimit === undefined ? [name] : [nameWithoutLimit, name]
}

function withKeys(source: Source, { policyKeys, policyTags }: Question): Source {
  const names = namesOf(source.use)
  const [key] = names.flatMap((name) => policyKeys.get(name) ?? [])
  const [tag] = names.flatMap((name) => policyTags.get(name) ?? [])
  const use = {
    ...source.use,
    ...(key !== undefined && { key }),
    ...(tag !== undefined && { tag }),
  }
  return { ...source, use }
}

/** A store's failure, with the last error that its client reported. */
function explained(error: unknown, trouble: Error | undefined): unknown {
  const { code, message } = error as { readonly code?: unknown; readonly message: string }
  if (code !== 'WEIR_STORE_FAILED' || trouble === undefined) return error
  const problem = `${message}; the client said ${quote(trouble.message)}`
  return Object.assign(new Error(problem, { cause: error }), { code })
}
