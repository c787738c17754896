// Which cores processes run on. The time of a lone request to a server on another core is mostly
// the time to wake that core, and the system moves processes around all the time.
import { spawnSync } from 'node:child_process'
import { cpus } from 'node:os'

/**
 * Binds each process to a core while `work` runs, if the system has the command for it.
 * @param cores in the order of the processes; if undefined, the system chooses
 */
export async function onCores<Result>(
  pids: readonly number[],
  cores: readonly number[] | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (cores === undefined) return work()
  if (!pids.every((pid, i) => bind(pid, String(cores[i]))))
    console.error('no taskset, or no such core: times will differ from moment to moment')
  try {
    return await work()
  } finally {
    for (const pid of pids) bind(pid, `0-${cpus().length - 1}`)
  }
}

function bind(pid: number, cores: string): boolean {
  return spawnSync('taskset', ['-acp', cores, String(pid)]).status === 0
}
