// Client and server on one core. On two, the time of a lone request is mostly that of waking the
// other core, which comes and goes as the system moves processes about.

import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'

/** Binds the processes while `work` runs, where the system has the command for it. */
export async function onOneCore<Result>(
  pids: readonly number[],
  work: () => Promise<Result>,
): Promise<Result> {
  const bound = bind(pids, '0')
  if (!bound) console.error('no taskset: times of lone requests will differ from moment to moment')
  try {
    return await work()
  } finally {
    if (bound) bind(pids, `0-${cpus().length - 1}`)
  }
}

function bind(pids: readonly number[], cores: string): boolean {
  return pids.every((pid) => spawnSync('taskset', ['-acp', cores, String(pid)]).status === 0)
}
