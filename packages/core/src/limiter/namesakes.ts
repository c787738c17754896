// Warns about policies that share their counters by accident, as they have the same name on one
// store.

import { counterOf } from '../algorithms/policy.js'
import { Recent } from '../base/cache.js'
import { quote } from '../base/errors.js'
import { type Place, placeOf } from '../base/places.js'
import { warnOnce } from '../base/warnings.js'
import type { PolicySet, Store, Target } from '../store.js'

/** The policies of a limiter. */
interface Named extends Pick<Target, 'policyKeys'> {
  readonly policySet: PolicySet | undefined
}

/** Warns of a policy that had another algorithm under this name. */
export function warnOfAlgorithms({ name: limiter, policies }: PolicySet, store: Store): void {
  for (const { name, kernel } of policies) {
    const before = noted(store, `${limiter}/${name}`, String(kernel?.id))
    if (before === undefined || before === kernel?.id) continue
    const what = `policy ${quote(name)} of limiter "${limiter}" had another algorithm before`
    warnOnce('WEIR_CHANGED_ALGORITHM', limiter, `${what}, so it counts anew; give each a name`)
  }
}

/** Warns of another limiter that counts under the same names. Only for policies that no function
 *  chooses. */
export function warnOfNamesake({ policySet, policyKeys }: Named, store: Store): void {
  policySet?.policies.forEach((policy, i) => {
    const { name } = policySet
    const counter = `${name}/${policy.name}/${counterOf(policy)}`
    // The policy keys of two limiters may well differ.
    if (policyKeys?.[i] !== undefined || noted(store, counter, 'taken') === undefined) return
    const what = `two limiters named "${name}" share the counters of policy "${policy.name}"`
    const where = 'on one store, or on Redis stores that count in one place'
    const remedy = 'give each limiter a name, pass shared: true if they are meant to share'
    const rest = 'or close the store that is no longer used'
    warnOnce('WEIR_SHARED_NAME', counter, `${what}, ${where}; ${remedy}, ${rest}`)
  })
}

/** After a limiter of these policies is closed, another one may have its name. */
export function freeNames({ policySet }: Named, store: Store): void {
  for (const policy of policySet?.policies ?? [])
    notesOf(store).delete(`${policySet?.name}/${policy.name}/${counterOf(policy)}`)
}

/** What a limiter has noted about a name, and the place in which its store counts. */
interface Note {
  readonly text: string
  readonly place: Place | undefined
}

const MAX_NOTES = 10_000
const MAX_PLACES = 1_000
const notesOnStores: WeakMap<Store, Recent<Note>> = new WeakMap()
const notesAtPlaces: Recent<Recent<Note>> = new Recent(MAX_PLACES)

/** The latest notes of limiters on this store, and on stores that count in the same place. */
function notesOf(store: Store): Recent<Note> {
  const place = placeOf(store)
  const known = place === undefined ? notesOnStores.get(store) : notesAtPlaces.get(place.name)
  const notes = known ?? new Recent(MAX_NOTES)
  if (place === undefined) notesOnStores.set(store, notes)
  else notesAtPlaces.set(place.name, notes)
  return notes
}

/** Notes `text` about a name. Returns the text noted before, unless its store is closed. */
function noted(store: Store, name: string, text: string): string | undefined {
  const notes = notesOf(store)
  const before = notes.get(name)
  notes.set(name, { text, place: placeOf(store) })
  return before?.place?.isClosed ? undefined : before?.text
}
