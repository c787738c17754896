import { SUGGESTED } from '../suggest/candidates.js'

const DEFAULT = 'sliding-window'
/** Where the text beside an option begins. */
const COLUMN = 27

/** The names of the algorithms, beside the option that takes one. */
const ALGORITHMS = wrapped(
  `${DEFAULT} (the default), ${SUGGESTED.filter((name) => name !== DEFAULT).join(', ')}`,
)

/** A text in lines that end by column 100. */
function wrapped(text: string): string {
  const lines = text.match(new RegExp(`.{1,${99 - COLUMN}}(?: |$)`, 'g')) ?? []
  return lines.map((line) => line.trim()).join(`\n${' '.repeat(COLUMN)}`)
}

const LOGS = `Logs
  LOG              a file, or - for standard input; gzip is recognised. Several are merged by time:
                   give the parts of a rotated log as files, not through zcat
  --format NAME    clf (Common and Combined Log Formats of nginx, Apache, HAProxy and morgan), json
                   or pino (one object per line), alb (AWS), w3c (CloudFront, IIS), har; default: by
                   the first lines. Prefixes of syslog, containers and Kubernetes are skipped
  --fields LIST    the names of a JSON log's fields: time=ts,key=user.id,cost=tokens; also ip, user,
                   method, path, host, status, bytes
  --trusted LIST   the proxies in front of the server: private,203.0.113.0/24. The client is then
                   the last address in X-Forwarded-For, or in a list, that is none of them
  --from, --to     only requests at and after --from, and before --to, such as 2026-10-10 or
                   2026-10-10T13:55+02:00
  --key KEY        who is limited: ip (the default, unless --fields names a key), user, path, host,
                   method, header.NAME, a field's path, or several: user+path
  --max-keys N     the most keys of a limiter, default 1000000: with more, the run fails
  --sample 1/N     only one key in N, by a hash of the key; shares come with twice their standard
                   error`

const OUTPUT = `Output
  --json           one JSON document
  --markdown       Markdown, for a pull request
  --html FILE      also writes a page with plots; FILE may not be one that is read`

export const SIMULATE_HELP: string = `weir simulate: which requests of a log would have been refused

  weir simulate access.log --limit 100 --window 1m
  weir simulate access.log --policy policies.mjs --trusted private
  weir simulate access.log --compare old.mjs new.mjs
  weir simulate access.log* --limit 20 --window 1s --max-affected 1%
  ssh www cat access.log | weir simulate - --limit 20 --window 1s

Replays the log through the limiters of @weir/core, by the log's own times, and says who would have
been refused, when and for how long, and the most that passed in any window beside the bound that
the policy promises. A key counts as refused until one of its requests passes, or the wait of its
last refusal (Retry-After) is over; how long it stays away after that is left out. Nothing is
sent anywhere.

Policies
  --limit N --window D     one policy: at most N requests in a window such as 10s, 1m or 1h
  --algorithm NAME         that policy's algorithm:
                           ${ALGORITHMS}
  --policy FILE            a module whose default export is a policy, a list of policies (one
                           decision), or limiters by name:
                             import { slidingWindow } from '@weir/core'
                             export default {
                               api: slidingWindow({ limit: 100, window: '1m' }),
                               hello: { limit: 5, window: '10s' }, // as middlewares take it
                               search: {
                                 policy: slidingWindow({ limit: 10, window: '1m' }),
                                 skip: (entry) => !entry.path?.startsWith('/search'),
                                 key: (entry) => entry.user,
                                 cost: (entry) => (entry.method === 'POST' ? 5 : 1),
                               },
                             }
  --limiter NAME           only this limiter from the file
  --compare OLD NEW        two such files: says what changes, and for which keys

${LOGS}

${OUTPUT}
  --max-refused P%         fails if a larger share of a limiter's requests would be refused
  --max-affected P%        fails if a larger share of its keys would be refused at least once

Exit codes: 0 done; 1 a share is above --max-refused or --max-affected, or nothing was decided, or
the keys may be wrong (the first lines say why), or the log could not be read or has more keys than
fit; 2 the command, a policies file or a path is wrong.`

export const SUGGEST_HELP: string = `weir suggest: the smallest limit that refuses hardly anybody

  weir suggest access.log
  weir suggest access.log --affect-requests 0.01% --windows 10s,1m --algorithm token-bucket
  weir suggest usage.jsonl --affect 1% --fields time=ts,key=user.id,cost=tokens

For each window, prints the smallest limit that, like every larger one, would have refused no more
of the log than you accept, and how much other limits would have refused. Keeps the requests in
memory, at most 33,554,432: of a longer log, take one key in 16 with --sample 1/16, or a part with
--from and --to.

Also prints each range of limits, from one to three times as many or more, that all affect the same
few keys, at most one in ten. If these abuse you, each limit of the range stops them alone. The
first line says which limit to set: half as much again as this log needs, as a round number.

  --affect P%              the share of keys that may be refused, each at least once; default 0.1%
  --affect-requests P%     instead: the share of requests that may be refused
  --windows LIST           default 1s,10s,1m,1h
  --algorithm NAME         ${ALGORITHMS};
                           the limit of a bucket is its capacity, and what is refilled in the window
  --policy FILE            takes key, cost and skip from a limiter in a policies file: see
                           weir simulate --help
  --limiter NAME           which limiter, if the file has several

${LOGS}

${OUTPUT}

Exit codes: 0 done; 1 the keys may be wrong (the first lines say why), or the log could not be read,
has more keys than fit, or no request to decide on; 2 the command, a policies file or a path is
wrong.`
