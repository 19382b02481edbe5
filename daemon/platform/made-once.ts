/** Something that is made of something else, and made again only when that is another one. */
export function madeOnce<From extends object, T>(current: () => From, make: (from: From) => T): () => T {
  let last: { from: From; made: T } | undefined
  return () => {
    const from = current()
    if (last?.from !== from) last = { from, made: make(from) }
    return last.made
  }
}
