import type { Fleet } from '../fleet/fleet.js'
import type { Member } from '../fleet/member.js'

/** Makes each process act about every `gapUs`, also those that start later. Returns a function that
 *  ends it. */
export function keepDoing(fleet: Fleet, gapUs: number, act: (member: Member) => void): () => void {
  let hasEnded = false
  const start = (member: Member): void => {
    const { host } = member
    const next = (): void => {
      if (hasEnded || member.isEnding || member.hasLeft) return
      act(member)
      host.run(host.random.whole(0, 2 * gapUs), next)
    }
    const quietUs = Math.max(0, member.quietUntilUs - fleet.world.nowUs)
    host.run(quietUs + host.random.whole(0, gapUs), next)
  }
  fleet.members.forEach(start)
  const { started } = fleet
  fleet.started = (member) => {
    started(member)
    start(member)
  }
  return () => {
    hasEnded = true
  }
}
