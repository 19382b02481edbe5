/** What of that which a model wants to keep may be kept, and how: by whose words it is, and by the days it names. Pure. */
import type { MemoryType } from '../../../schema/memory.ts'
import { absoluteDates, relativeDatesIn } from '../dates/dates.ts'
import { localStamp } from '../local-time.ts'
import { isPersons, supportOf, type Voices } from './support.ts'

/** A message of the part that is new, as far as it matters here. */
export type Spoken = { id: string; by: 'person' | 'agent' | 'tool'; text: string; at: number }

export type Wish = {
  file: string
  /** Nothing where the memory goes. */
  content: string | null
  before: string
  type: MemoryType | undefined
  /** Whether it is marked as untrusted already. */
  untrusted: boolean
  /** The messages it rests on. */
  cited: readonly Spoken[]
}

export type Ruling = { refused: string } | { trust: 'person' | 'untrusted' }

/** `voices`: what was said in all that is new; what a person confirmed counts as theirs. */
export function rule({ file, content, before, type, untrusted, cited }: Wish, voices: Voices): Ruling {
  const persons = cited.filter(({ by }) => by === 'person')
  if (content === null)
    return isPersons(supportOf(before, voices)) && persons.length > 0
      ? { trust: 'person' }
      : { refused: `${file} is not what the person spoke of; only they can have a memory taken away` }
  const isTheirs = persons.length > 0 && isPersons(supportOf(addedTo(before, content), voices, before))
  if (isIndex(file))
    return isTheirs
      ? { trust: 'person' }
      : { refused: `${file} is kept for you; write the memory and leave it at that` }
  if (isTheirs && !untrusted) return { trust: 'person' }
  if (type === 'user' || type === 'feedback')
    return {
      refused: `a ${type} memory holds only what the person said, in their own words; this is made of other words. If it is a fact worth keeping, it is a project or reference memory`,
    }
  if (file.startsWith('team/'))
    return { refused: `${file}: what the person did not say themselves is not shared with the team` }
  return { trust: 'untrusted' }
}

function isIndex(file: string): boolean {
  return file === 'MEMORY.md' || file === 'team/MEMORY.md'
}

/** The lines that were not there before. */
export function addedTo(before: string, content: string): string {
  const known = new Set(before.split('\n').map((line) => line.trim()))
  return content
    .split('\n')
    .filter((line) => !known.has(line.trim()))
    .join('\n')
}

/** Days that only meant something when they were said, in what is new of a text, as the days they are. */
export function datedText(before: string, content: string, cited: readonly Spoken[]): string {
  const known = new Set(before.split('\n').map((line) => line.trim()))
  return content
    .split('\n')
    .map((line) => {
      if (known.has(line.trim())) return line
      const at = saidAt(line, cited)
      return at === undefined ? line : absoluteDates(line, localStamp(at)).text
    })
    .join('\n')
}

/** By which day a relative one is reckoned: that on which the words were said, or else the last on which the person spoke. */
function saidAt(line: string, cited: readonly Spoken[]): number | undefined {
  const days = relativeDatesIn(line).map((day) => day.toLowerCase())
  if (days.length === 0) return undefined
  const theirs = cited.filter(({ by }) => by === 'person')
  const among = theirs.length > 0 ? theirs : cited
  const said = among.find(({ text }) => days.some((day) => text.toLowerCase().includes(day)))
  return (said ?? among.at(-1))?.at
}

/** What could not be made absolute. */
export function relativeDaysIn(before: string, content: string): string[] {
  return relativeDatesIn(addedTo(before, content))
}

/** The words of a message that a memory is made of, for whoever asks why it is there. */
export function excerptOf(text: string, content: string): string {
  const whole = text.trim()
  if (whole.length <= EXCERPT_UNITS) return whole
  const pieces = whole.split(/(?<=[.!?。！？])\s+|\n+/).filter((piece) => piece.trim() !== '')
  const best = pieces
    .map((piece) => ({ piece, shared: supportOf(content, { persons: [piece], others: [] }).fromPersons }))
    .reduce((a, b) => (b.shared > a.shared ? b : a), { piece: whole, shared: 0 })
  return best.piece.trim().slice(0, EXCERPT_UNITS)
}

const EXCERPT_UNITS = 500
