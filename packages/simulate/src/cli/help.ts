const LOGS = `Logs
  LOG              a file, or - for standard input; gzip is recognised; several are merged by time
  --format NAME    clf (Common and Combined Log Format of nginx and Apache), nginx-json, caddy, json
                   (one object a line), har; default: by the first lines
  --fields LIST    where a log in JSON has what: time=ts,key=user.id,cost=tokens; also ip, user,
                   method, path, host, status, bytes
  --from, --to     only requests from a time on, and before one: 2026-10-10, 2026-10-10T13:55+02:00
  --key KEY        who is limited: ip (the default, unless --fields names a key), user, path, host,
                   method, header.NAME, a field's path, or several: user+path
  --max-keys N     the most keys of a limiter, default 1000000: with more, the run fails
  --sample 1/N     only one of N keys, by a hash of the key; shares come with twice their error`

const OUTPUT = `Output
  --json           one JSON document
  --markdown       for a pull request
  --html FILE      one page with plots, beside what is printed`

export const SIMULATE_HELP: string = `weir simulate: which requests of a log would have been refused

  weir simulate access.log --limit 100 --window 1m
  weir simulate access.log --policy policies.mjs --key ip
  weir simulate access.log --compare old.mjs new.mjs
  zcat access.log.*.gz | weir simulate - --limit 20 --window 1s --max-affected 1%

Replays the log through the limiters of @weir/core, by the times of the log, and says who would have
been refused, when and for how long, and the most that passed in any window beside what the policy
promises. Nothing is sent anywhere.

Policies
  --limit N --window D     one policy: so many requests in a time such as 10s, 1m or 1h
  --algorithm NAME         of that policy: sliding-window (the default), sliding-log, fixed-window,
                           sliding-counter, token-bucket, gcra, leaky-bucket
  --policy FILE            a module whose default export is a policy, a list of policies (one
                           decision), or limiters by name:
                             import { slidingWindow } from '@weir/core'
                             export default {
                               api: slidingWindow({ limit: 100, window: '1m' }),
                               search: {
                                 policy: slidingWindow({ limit: 10, window: '1m' }),
                                 skip: (entry) => !entry.path?.startsWith('/search'),
                                 key: (entry) => entry.user,
                                 cost: (entry) => (entry.method === 'POST' ? 5 : 1),
                               },
                             }
  --limiter NAME           only this limiter of the file
  --compare OLD NEW        two such files: what changes, and for which keys

${LOGS}

${OUTPUT}
  --max-refused P%         fail if a larger share of the requests of a limiter would be refused
  --max-affected P%        fail if a larger share of its keys would be refused at least once

Exit codes: 0 done; 1 a share is above --max-refused or --max-affected, or was asked for and nothing
was decided, or the log could not be read or has more keys than fit; 2 the command, a policies file
or a path is wrong.`

export const SUGGEST_HELP: string = `weir suggest: the smallest limit that refuses hardly anybody

  weir suggest access.log --affect 0.1%
  weir suggest access.log --affect-requests 0.01% --windows 10s,1m --algorithm token-bucket
  weir suggest usage.jsonl --affect 1% --fields time=ts,key=user.id,cost=tokens

For each window, the smallest limit that, as all larger ones, would have refused no more of the log
than you say, and how much other limits would have refused.

  --affect P%              the share of keys that may be refused, each at least once
  --affect-requests P%     instead: the share of requests that may be refused
  --windows LIST           default 1s,10s,1m,1h
  --algorithm NAME         sliding-window (the default), sliding-log, fixed-window, sliding-counter;
                           token-bucket, gcra, leaky-bucket, whose limit is the capacity, and what
                           comes back in the window
  --policy FILE            takes key, cost and skip from a limiter of a policies file: see
                           weir simulate --help
  --limiter NAME           which one, if the file has several

${LOGS}

${OUTPUT}

Exit codes: 0 done; 1 the log could not be read or has more keys than fit; 2 the command, a
policies file or a path is wrong.`
