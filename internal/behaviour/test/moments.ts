// What happens to each request, by its path, as promises.

export interface Moments {
  happens(moment: string, path: string): void
  when(moment: string, path: string): Promise<void>
}

export function moments(): Moments {
  const found = new Map<string, { promise: Promise<void>; happens: () => void }>()
  function of(moment: string, path: string) {
    const key = `${moment} ${path}`
    let one = found.get(key)
    if (one === undefined) {
      let happens = () => {}
      const promise = new Promise<void>((resolve) => {
        happens = resolve
      })
      one = { promise, happens: () => happens() }
      found.set(key, one)
    }
    return one
  }
  return {
    happens: (moment: string, path: string) => of(moment, path).happens(),
    when: (moment: string, path: string) => of(moment, path).promise,
  }
}
