/** All matches of a pattern; where it is known at which places one may begin, they alone are tried. Pure. */

/** Ascending places at which a piece of the pattern stands; without them the whole text is looked through. */
export type Starts = readonly number[] | undefined

export type Pattern = { anywhere: RegExp; here: RegExp }

export function pattern({ source, flags }: RegExp): Pattern {
  return { anywhere: new RegExp(source, flags), here: new RegExp(source, flags.replace('g', 'y')) }
}

/** `leads`: how many characters may stand in a match before its piece, the most first. */
export function* matchesFrom(
  text: string,
  { anywhere, here }: Pattern,
  starts: Starts,
  leads: readonly number[] = [0],
): Generator<RegExpExecArray> {
  if (!starts) return yield* text.matchAll(anywhere)
  let from = 0
  for (const start of starts)
    for (const lead of leads) {
      if (start - lead < from) continue
      here.lastIndex = start - lead
      const match = here.exec(text)
      if (!match) continue
      from = match.index + match[0].length
      yield match
      break
    }
}
