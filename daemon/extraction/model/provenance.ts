/** What of that which a model wants to keep may be kept, and as whose word: by where its sentences were said. Pure. */
import { keptBecause, smallWordsSaid, turnedBy } from './ending.ts'
import { doubtOf, firstDoubt, lineUnits, neutralOf } from './support.ts'
import { addedUnits, type Memory, removedUnits, unitsOf } from './units.ts'
import type { Spoken, Voices } from './voices.ts'

export type Wish = {
  file: string
  /** Nothing where there is none yet. */
  before: Memory | undefined
  /** Nothing where the memory goes. */
  after: Memory | null
  /** The new messages it rests on. */
  cited: readonly Spoken[]
  /** That it was found untrusted before in this run: what was added since takes nothing back. */
  isDoubted: boolean
}

export type Ruling = { refused: string } | { trust: 'person' | 'untrusted' }

const CLOSER = 'say it in the person’s own words, or leave it out'

export function rule({ file, before, after, cited, isDoubted }: Wish, voices: Voices): Ruling {
  if (isIndex(file)) return { refused: `${file} is kept for you; write the memory and leave it at that` }
  const said = cited.filter(({ by }) => by === 'person').map(({ text }) => text)
  const kept = before && keptBecause(before, after, said)
  if (kept !== undefined) return { refused: `${file} holds what would be lost, and ${kept}` }
  if (after === null) return { trust: 'person' }
  const doubt =
    said.length === 0 ? 'none of what it rests on was said by the person' : doubtIn(before, after, said, voices)
  const isOwn = after.type === 'user' || after.type === 'feedback'
  if (doubt === undefined && !after.untrusted && !before?.untrusted && !isDoubted) return { trust: 'person' }
  const why = doubt ?? 'it is marked as untrusted'
  if (isOwn)
    return {
      refused: `a ${after.type} memory holds only what the person said: ${why}; ${CLOSER}. If it is a fact worth keeping, it is a project or reference memory`,
    }
  if (file.startsWith('team/'))
    return { refused: `${file}: what the person did not say themselves is not shared with the team: ${why}; ${CLOSER}` }
  if (before && !before.untrusted)
    return {
      refused: `${file} holds what the person said, and this is not theirs: ${why}; write it beside, or ${CLOSER}`,
    }
  return { trust: 'untrusted' }
}

/** Why something in what comes in is not theirs. */
function doubtIn(
  before: Memory | undefined,
  after: Memory,
  said: readonly string[],
  voices: Voices,
): string | undefined {
  // What becomes a word of the person has to be one from beginning to end.
  const isRaised =
    before !== undefined && before.type !== after.type && after.type !== 'project' && after.type !== 'reference'
  if (!before || isRaised) return told(firstDoubt(unitsOf(after), voices))
  const added = addedUnits(before, after)
  const turned = turnedBy(removedUnits(before, after), added, said)
  if (turned !== undefined) return `"${turned}" comes or goes, and they did not say so`
  const neutral = neutralOf(before.text)
  const doubt = firstDoubt(added, voices, neutral)
  if (doubt) return told(doubt)
  // Nothing in it that one could hold against what was said: then the small words count.
  const small = added.filter((unit) => doubtOf(unit, NOBODY, neutral) === undefined)
  return smallWordsSaid(before, small, said) ? undefined : 'the words that come in are not theirs'
}

const NOBODY: Voices = {
  persons: { words: new Set(), pairs: new Set(), runs: [], text: '' },
  others: { words: new Set(), pairs: new Set(), runs: [], text: '' },
}

function told(doubt: ReturnType<typeof firstDoubt>): string | undefined {
  return doubt && `${JSON.stringify(shortened(doubt.unit.text))} is not theirs (${doubt.why})`
}

/** One line of a log says for itself what it is. */
export function ruleLine(type: Memory['type'], text: string, cited: readonly Spoken[], voices: Voices): Ruling {
  const doubt = firstDoubt(lineUnits(text), voices)
  if (!doubt && cited.some(({ by }) => by === 'person')) return { trust: 'person' }
  if (type !== 'user' && type !== 'feedback') return { trust: 'untrusted' }
  const why = told(doubt) ?? 'none of what it rests on was said by the person'
  return { refused: `a ${type} line holds only what the person said: ${why}; ${CLOSER}` }
}

function isIndex(file: string): boolean {
  return file === 'MEMORY.md' || file === 'team/MEMORY.md'
}

function shortened(text: string): string {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text
}
