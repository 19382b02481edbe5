/** Numbers to work in, made once for an index: to make them for each question would take longer than to answer it. */

/** For each id. Zeros are left behind. */
export type Scratch = {
  sums: Float64Array
  parts: Float64Array
  slots: Int32Array
  /** Not zeros: written before they are read. */
  touched: Int32Array
  own: Int32Array
  /** The same; for the few that are looked at closely, in their order. */
  ones: Int32Array
  places: Int32Array
  few: Int32Array
  order: Int32Array
  scores: Float64Array
  best: Float64Array
  titles: Int32Array
}

/** Nobody looks at more of them closely. */
export const MOST_FEW = 512

/** For each of the few and each thing that is wanted. */
export type Grid = { sure: Float64Array; lines: Int32Array }

export type Scratches = {
  /** With room for so many ids. */
  forIds(ids: number): Scratch
  /** So many cells of it are zeros; valid until it is asked for again. */
  grid(cells: number): Grid
}

export function createScratch(): Scratches {
  let scratch = scratchFor(0)
  let grid = gridFor(0)
  return {
    forIds: (ids) => {
      if (scratch.sums.length < ids) scratch = scratchFor(2 * ids)
      return scratch
    },
    grid: (cells) => {
      if (grid.sure.length < cells) grid = gridFor(2 * cells)
      const { sure, lines } = grid
      // One by one: for so few that is quicker than to have it done.
      for (let cell = 0; cell < cells; cell++) sure[cell] = lines[cell] = 0
      return grid
    },
  }
}

function scratchFor(ids: number): Scratch {
  const few = Math.min(ids, MOST_FEW)
  return {
    sums: new Float64Array(ids),
    parts: new Float64Array(ids),
    slots: new Int32Array(ids),
    touched: new Int32Array(ids),
    own: new Int32Array(ids),
    ones: new Int32Array(few),
    places: new Int32Array(few),
    few: new Int32Array(few),
    order: new Int32Array(few),
    scores: new Float64Array(few),
    best: new Float64Array(few),
    titles: new Int32Array(few),
  }
}

function gridFor(cells: number): Grid {
  return { sure: new Float64Array(cells), lines: new Int32Array(cells) }
}
