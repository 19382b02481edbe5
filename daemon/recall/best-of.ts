/** A few of many by their numbers, without sorting the many. Pure but for the lists it is given. */

type Many = {
  /** The ids to choose from are the first `count` of them. */
  ids: Int32Array
  count: number
  sums: Float64Array
  /** No two have the same file. */
  doc: (id: number) => { file: string }
}

type Few = { most: number; into: Int32Array; skip: ((file: string) => boolean) | undefined }

/**
 * Puts the `most` ids with the largest sums into a list, in no order, and tells how many these are; of equal ones
 * those whose files come first by name. Only who would be among them is asked about.
 */
export function bestOf(many: Many, { most, into, skip }: Few): number {
  const { ids, count, sums, doc } = many
  let kept = 0
  let bar = Number.NEGATIVE_INFINITY
  for (let n = 0; n < count; n++) {
    const id = ids[n] as number
    if ((sums[id] as number) < bar) continue
    if (kept < most) {
      if (!skip?.(doc(id).file)) rise(id, into, kept++, many)
    } else if (isLess(into[0] as number, id, many) && !skip?.(doc(id).file)) sink(id, into, kept, many)
    if (kept === most) bar = sums[into[0] as number] as number
  }
  return kept
}

// The list is a heap: the least of those kept stands at its top.

function rise(id: number, heap: Int32Array, end: number, many: Many): void {
  let at = end
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isLess(id, heap[above] as number, many)) break
    heap[at] = heap[above] as number
    at = above
  }
  heap[at] = id
}

function sink(id: number, heap: Int32Array, size: number, many: Many): void {
  let at = 0
  for (let below = 1; below < size; below = 2 * at + 1) {
    if (below + 1 < size && isLess(heap[below + 1] as number, heap[below] as number, many)) below++
    if (!isLess(heap[below] as number, id, many)) break
    heap[at] = heap[below] as number
    at = below
  }
  heap[at] = id
}

/** Never by id: that only tells what was read first. */
function isLess(a: number, b: number, { sums, doc }: Many): boolean {
  const difference = (sums[a] as number) - (sums[b] as number)
  return difference < 0 || (difference === 0 && doc(a).file > doc(b).file)
}
