/** Decides whose word a model's change is: it may cite a person and write what a web page told it. Pure. */
import { isIndex } from '../../memory/file-names.ts'
import { relativeDatesIn } from '../dates/dates.ts'
import {
  addedUnits,
  DISGUISED,
  formsIn,
  isSaid,
  literalsIn,
  type Memory,
  plainText,
  runOf,
  sentences,
  type Unit,
  unitsOf,
  wordsIn,
} from './compared-words.ts'
import { emptyVoice, pairsIn, type Spoken, type Voices } from './voices.ts'

type Wish = {
  file: string
  before: Memory | undefined
  after: Memory | null
  cited: readonly Spoken[]
  /** Found untrusted before in this run: later additions do not lift that. */
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

function doubtIn(before: Memory | undefined, after: Memory, said: readonly string[], voices: Voices) {
  // What becomes the person's word must be theirs from beginning to end.
  const isRaised =
    before !== undefined && before.type !== after.type && after.type !== 'project' && after.type !== 'reference'
  if (!before || isRaised) return firstDoubt(unitsOf(after), voices)
  const added = addedUnits(before, after)
  const turned = turnedBy(addedUnits(after, before), added, said)
  if (turned !== undefined) return `"${turned}" comes or goes, and they did not say so`
  const neutral = neutralOf(before.text)
  const doubt = firstDoubt(added, voices, neutral)
  if (doubt !== undefined) return doubt
  // These have no other words to compare with what was said, so their small words are compared.
  const small = added.filter((unit) => doubtOf(unit, SILENT, neutral) === undefined)
  return smallWordsSaid(before, small, said) ? undefined : 'the words that come in are not theirs'
}

const SILENT: Voices = { persons: emptyVoice(), others: emptyVoice() }

export function ruleLine(type: Memory['type'], text: string, cited: readonly Spoken[], voices: Voices): Ruling {
  const units = sentences(text).filter(({ text: said }) => /[\p{L}\p{N}]/u.test(said))
  const doubt = firstDoubt(units, voices)
  if (doubt === undefined && cited.some(({ by }) => by === 'person')) return { trust: 'person' }
  if (type !== 'user' && type !== 'feedback') return { trust: 'untrusted' }
  const why = doubt ?? 'none of what it rests on was said by the person'
  return { refused: `a ${type} line holds only what the person said: ${why}; ${CLOSER}` }
}

/** This many words in a row, this many of them only said by others, are no coincidence. */
const RUN = 6
const RUN_FOREIGN = 2

/** The memory before the change: its words need not be said again. */
type Neutral = ReturnType<typeof neutralOf>

function neutralOf(text: string) {
  return { words: formsIn(text), text: plainText(text).toLowerCase() }
}

function doubtOf({ kind, text }: Unit, voices: Voices, neutral?: Neutral): string | undefined {
  const { persons, others } = voices
  const foreign = (kind === 'code' ? text.trim().split(/\s+/) : literalsIn(text)).find(
    (literal) => !isSaid(literal, persons.text) && !(neutral && isSaid(literal, neutral.text)),
  )
  if (foreign !== undefined) return `the person did not say ${JSON.stringify(foreign)}`
  if (kind === 'code') return undefined
  const words = [...new Set(partsIn(text, voices))].filter((word) => !neutral?.words.has(word))
  if (words.length === 0) return neutral ? undefined : doubtOfCommon({ kind, text }, voices)
  const alien = new Set(
    words.filter((word) => !persons.words.has(word) && (others.words.has(word) || word === DISGUISED)),
  )
  const theirs = words.filter((word) => persons.words.has(word)).length
  if (words.includes(DISGUISED)) return 'a word of it mixes alphabets'
  const copied = pairsIn(wordsIn(text)).find((pair) => {
    const [one = '', two = ''] = pair.split(' ')
    return alien.has(one) && alien.has(two) && others.pairs.has(pair)
  })
  if (copied !== undefined)
    return `${JSON.stringify(copied)} stands in what was shown or answered, and not in what they said`
  if (alien.size >= RUN_FOREIGN && hasRun(text, alien, others.runs)) return 'it was taken over from what was shown'
  // A name may be one word of the model's own.
  const isName = kind === 'label' && words.length === 1 && alien.size === 0 && !MODAL.test(text)
  if (theirs * 2 < words.length && !isName) return 'most of its words are not theirs'
  if (alien.size * 2 > theirs) return 'too many of its words stand only in what was shown or answered'
  return doubtOfEnd(text, voices, neutral)
}

/** A name that was said as a whole is one word; of any other every part counts. */
function partsIn(text: string, { persons }: Voices): string[] {
  return wordsIn(text).flatMap(({ whole, parts }) => (persons.words.has(whole) ? [whole] : parts))
}

/** A sentence of common words only must have been said like that. A label may, unless it orders something. */
function doubtOfCommon({ kind, text }: Unit, { persons }: Voices): string | undefined {
  if (kind === 'label' && !MODAL.test(text)) return undefined
  const run = runOf(text)
  return run.trim() === '' || persons.runs.some((said) => said.includes(run))
    ? undefined
    : 'they did not say it like that'
}

const MODAL = /\b(?:always|never|not|no|don't|must|avoid|stop|only|without)\b|[不别勿没禁]/i

/** What follows a colon or a dash must be theirs by itself. */
function doubtOfEnd(text: string, { persons, others }: Voices, neutral: Neutral | undefined): string | undefined {
  for (const clause of text.split(/[;:：；]\s|\s[-–—]+\s|—/).slice(1)) {
    const words = partsIn(clause, { persons, others }).filter((word) => !neutral?.words.has(word))
    if (words.some((word) => others.words.has(word)) && !words.some((word) => persons.words.has(word)))
      return `${JSON.stringify(clause.trim())} stands only in what was shown or answered`
  }
  return undefined
}

/** A text that asks to be saved paraphrases the person as far as it can: the rest is then copied word by word. */
function hasRun(text: string, alien: ReadonlySet<string>, runs: readonly string[]): boolean {
  const stems = runOf(text).trim().split(' ')
  for (let at = 0; at + RUN <= stems.length; at++) {
    const run = stems.slice(at, at + RUN)
    if (run.filter((stem) => alien.has(stem)).length < RUN_FOREIGN) continue
    const sought = ` ${run.join(' ')} `
    if (runs.some((said) => said.includes(sought))) return true
  }
  return false
}

function firstDoubt(units: readonly Unit[], voices: Voices, neutral?: Neutral): string | undefined {
  for (const unit of units) {
    const why = doubtOf(unit, voices, neutral)
    const text = unit.text.length > 160 ? `${unit.text.slice(0, 160)}…` : unit.text
    if (why !== undefined) return `${JSON.stringify(text)} is not theirs (${why})`
  }
  return undefined
}

const ENDING =
  /\b(?:forget|remov\w*|delet\w*|drop\w*|no longer|not any ?more|any ?more|anymore|obsolete|outdated|instead|chang\w*|mov\w*|wrong|replac\w*|stop\w*|cancel\w*|over|abandon\w*|withdrawn|revok\w*|never mind|scrap\w*)\b|忘|删|不再|取消|作废|改|换|不用了|移/i
const ALLOWING = /\b(?:fine|ok|okay|allowed|may|can|now)\b|可以|允许/i

const POSITIVE = ['always', 'must', 'only', '必须', '总是', '始终']
const MODALS =
  /\b(?:never|not|no|nor|without|avoid|stop|always|must|only|cannot|\w+n't|dont)\b|禁止|必须|总是|始终|不|别|勿|没/g

/** A change may drop a larger share of a memory only if the person said so. */
const MOST_GONE = 1 / 3
const SHARED = 2

function keptBecause(before: Memory, after: Memory | null, said: readonly string[]): string | undefined {
  const had = formsIn(textOf(before))
  const has = after ? formsIn(textOf(after)) : new Set<string>()
  const gone = [...had].filter((word) => !has.has(word))
  if (after && gone.length <= had.size * MOST_GONE) return undefined
  const name = formsIn(before.name)
  const description = formsIn(before.description)
  const about = new Set([...name, ...description])
  const half = Math.ceil(Math.min(name.size || about.size, description.size || about.size) / 2)
  const most = new Set([...about, ...gone])
  const need = Math.min(Math.max(SHARED, half), most.size)
  const isSaid = said.some((text) => {
    const shared = [...formsIn(text)].filter((word) => most.has(word))
    // The ending must be in the same clause as what ends: a request for work may stand beside it.
    const clauses = plainText(text).split(/[.!?;,\n。！？；，]|\b(?:and|but|then)\b/)
    return shared.length >= need && clauses.some((clause) => ENDING.test(clause) && sharesAny(clause, most))
  })
  return isSaid ? undefined : 'the person did not say that it no longer holds'
}

function textOf({ name, description, body }: Memory): string {
  return `${name}\n${description}\n${body}`
}

function sharesAny(text: string, words: ReadonlySet<string>): boolean {
  return [...formsIn(text)].some((word) => words.has(word))
}

/** A "never" or "always" that comes or goes, and that the person did not say about it. */
function turnedBy(removed: readonly Unit[], added: readonly Unit[], said: readonly string[]): string | undefined {
  const old = modalsIn(removed)
  const fresh = modalsIn(added)
  const spoken = said.flatMap((text) => sentences(text)).map(({ text }) => plainText(text).toLowerCase())
  const about = formsIn([...removed, ...added].map(({ text }) => text).join('\n'))
  const near = spoken.filter((sentence) => sharesAny(sentence, about))
  for (const [key, modal] of fresh) if (!old.has(key) && !near.some((sentence) => heldIn(modal, sentence))) return modal
  for (const [key, modal] of old) {
    const isMeant = (sentence: string) => heldIn(modal, sentence) || ENDING.test(sentence) || ALLOWING.test(sentence)
    if (!fresh.has(key) && !near.some(isMeant)) return modal
  }
  return undefined
}

/** With the word that follows: a "never" that moves to another sentence is another one. */
function modalsIn(units: readonly Unit[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const { text } of units) {
    const plain = plainText(text).toLowerCase()
    for (const match of plain.matchAll(MODALS)) {
      const modal = /n't$|^dont$|^cannot$|^nor$/.test(match[0]) ? 'not' : match[0]
      const next = wordsIn(plain.slice(match.index + match[0].length))[0]?.whole ?? ''
      found.set(`${POSITIVE.includes(modal)} ${next}`, modal)
    }
  }
  return found
}

function heldIn(modal: string, sentence: string): boolean {
  const isPositive = POSITIVE.includes(modal)
  return [...sentence.matchAll(MODALS)].some(([each]) => POSITIVE.includes(each) === isPositive)
}

/** Where only small words came in, each of them was said; for a date, a date was. */
function smallWordsSaid(before: Memory, added: readonly Unit[], said: readonly string[]): boolean {
  const all = said.map((text) => plainText(text).toLowerCase()).join('\n')
  const had = new Set(tokensIn(textOf(before)))
  const fresh = added.flatMap(({ text }) => tokensIn(text)).filter((token) => !had.has(token))
  const named = new Set(tokensIn(all))
  return fresh.every((token) =>
    DAY.test(token) ? /\d/.test(all) || relativeDatesIn(all).length > 0 : named.has(token),
  )
}

const DAY = /^\d{4}-\d\d(?:-\d\d)?$/

function tokensIn(text: string): string[] {
  return (
    plainText(text)
      .toLowerCase()
      .match(/\d{4}-\d\d(?:-\d\d)?|\p{Script=Han}|[\p{L}\p{N}']+/gu) ?? []
  )
}
