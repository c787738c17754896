// What clients see of a behaviour, as a line of text: the responses, with equal ones joined. Times
// of about a minute are shown as 60, so that a slow machine gives the same result.

import type { Ask, Behaviour, Counting, Running, Version } from './incumbent.js'

type Asked = Pick<Behaviour, 'asks' | 'look' | 'servers' | 'options'>

const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms))

/** `200 x3, 429` for three responses and a fourth; the error's code if nothing is served.
 *  @param wait lets a number of ms pass between requests */
export async function seenOf(
  { serve }: Version,
  counting: Counting,
  { asks, look = [], servers = 1, options = {} }: Asked,
  wait: (ms: number) => void | Promise<void> = sleep,
): Promise<string> {
  const running: Running[] = []
  try {
    for (let i = 0; i < servers; i += 1) running.push(await serve(counting, options))
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error)
  }
  try {
    const seen: string[] = []
    let toldMs = 0
    for (const ask of asks) {
      const { afterMs = 0, atOnce = 1 } = ask
      await wait(afterMs === 'told' ? toldMs : afterMs)
      const answers = await Promise.all(
        Array.from({ length: atOnce }, (_, i) => answerOf(running[i % servers] as Running, ask)),
      )
      toldMs = Number(answers[0]?.headers?.get('retry-after') ?? 0) * 1_000
      seen.push(...answers.map((answer) => shown(answer, look)).sort())
    }
    return joined(seen)
  } finally {
    for (const each of running) await each.close()
  }
}

interface Answer {
  /** A status, or the result of a method. */
  readonly text: string
  readonly headers?: Headers
  readonly body?: string
}

async function answerOf(running: Running, ask: Ask): Promise<Answer> {
  const { user = 'ann', path = '/', status = 200, act } = ask
  if (act !== undefined) return { text: String(await running.act?.(act, user)) }
  const headers = { 'x-user': user, 'x-status': String(status) }
  const response = await fetch(running.url + path, { headers })
  return { text: String(response.status), headers: response.headers, body: await response.text() }
}

function shown({ text, headers, body = '' }: Answer, look: readonly string[]): string {
  if (headers === undefined) return text
  const fields = look.map((name) => (name === 'body' ? body : timed(headers.get(name) ?? 'none')))
  return [text, ...fields].join(' ')
}

function timed(value: string): string {
  const leftS = Number(value) - Date.now() / 1_000
  const text = leftS > -1_000 ? `now+${Math.round(leftS)}` : value
  return text.replace(/\b(5[3-9]|6[0-2])\b/g, (digits) => (Number(digits) < 57 ? '55' : '60'))
}

function joined(seen: readonly string[]): string {
  const runs: { text: string; count: number }[] = []
  for (const text of seen) {
    const last = runs.at(-1)
    if (last?.text === text) last.count += 1
    else runs.push({ text, count: 1 })
  }
  return runs.map(({ text, count }) => (count === 1 ? text : `${text} x${count}`)).join(', ')
}
