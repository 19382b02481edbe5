/** Work on the same thing goes one after the other, on different things side by side. What fails holds nobody up. */

export type InTurn = <T>(what: string, work: () => Promise<T>) => Promise<T>

export function createInTurn(): InTurn {
  const lasts = new Map<string, Promise<unknown>>()
  return (what, work) => {
    const mine = (lasts.get(what) ?? Promise.resolve()).then(work)
    const settled = mine.catch(() => {})
    lasts.set(what, settled)
    void settled.then(() => {
      if (lasts.get(what) === settled) lasts.delete(what)
    })
    return mine
  }
}
