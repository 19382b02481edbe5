/** A few of many by their numbers, without sorting the many. Pure. */

/**
 * The `most` ids with the largest sums, in no order; of equal ones the lower ids. Only who would be among them is asked about.
 * The ids are the first `count` of a list.
 */
export function bestOf(
  { ids, count }: { ids: Int32Array; count: number },
  sums: Float64Array,
  most: number,
  skip?: (id: number) => boolean,
): number[] {
  // A heap: the least of those kept stands at its top.
  const kept: number[] = []
  const isLess = (a: number, b: number) => {
    const difference = (sums[a] as number) - (sums[b] as number)
    return difference < 0 || (difference === 0 && a > b)
  }
  const rise = (id: number) => {
    let at = kept.length
    kept.push(id)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isLess(id, kept[above] as number)) break
      kept[at] = kept[above] as number
      at = above
    }
    kept[at] = id
  }
  const sink = (id: number) => {
    let at = 0
    for (let below = 1; below < kept.length; below = 2 * at + 1) {
      if (below + 1 < kept.length && isLess(kept[below + 1] as number, kept[below] as number)) below++
      if (!isLess(kept[below] as number, id)) break
      kept[at] = kept[below] as number
      at = below
    }
    kept[at] = id
  }
  let bar = Number.NEGATIVE_INFINITY
  for (let n = 0; n < count; n++) {
    const id = ids[n] as number
    if ((sums[id] as number) < bar) continue
    if (kept.length < most) {
      if (!skip?.(id)) rise(id)
    } else if (isLess(kept[0] as number, id) && !skip?.(id)) sink(id)
    if (kept.length === most) bar = sums[kept[0] as number] as number
  }
  return kept
}
