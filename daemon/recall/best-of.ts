/** A few of many by their numbers, without sorting the many. Pure but for the lists it is given. */

type Many = {
  /** The ids to choose from are the first `count` of them. */
  ids: Int32Array
  count: number
  sums: Float64Array
}

/**
 * Puts the `most` ids with the largest sums into a list, in no order, and tells how many these are; of equal ones the lower
 * ids. Only who would be among them is asked about.
 */
export function bestOf(
  { ids, count, sums }: Many,
  { most, into, skip }: { most: number; into: Int32Array; skip: ((id: number) => boolean) | undefined },
): number {
  let kept = 0
  let bar = Number.NEGATIVE_INFINITY
  for (let n = 0; n < count; n++) {
    const id = ids[n] as number
    if ((sums[id] as number) < bar) continue
    if (kept < most) {
      if (!skip?.(id)) rise(id, into, kept++, sums)
    } else if (isLess(into[0] as number, id, sums) && !skip?.(id)) sink(id, into, kept, sums)
    if (kept === most) bar = sums[into[0] as number] as number
  }
  return kept
}

// The list is a heap: the least of those kept stands at its top.

function rise(id: number, heap: Int32Array, end: number, sums: Float64Array): void {
  let at = end
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isLess(id, heap[above] as number, sums)) break
    heap[at] = heap[above] as number
    at = above
  }
  heap[at] = id
}

function sink(id: number, heap: Int32Array, size: number, sums: Float64Array): void {
  let at = 0
  for (let below = 1; below < size; below = 2 * at + 1) {
    if (below + 1 < size && isLess(heap[below + 1] as number, heap[below] as number, sums)) below++
    if (!isLess(heap[below] as number, id, sums)) break
    heap[at] = heap[below] as number
    at = below
  }
  heap[at] = id
}

function isLess(a: number, b: number, sums: Float64Array): boolean {
  const difference = (sums[a] as number) - (sums[b] as number)
  return difference < 0 || (difference === 0 && a > b)
}
