/**
 * What of that which a model wants to keep may be kept, and as whose word: by where its sentences were said: a
 * model may cite a person's message and write down what a web page told it to. Pure.
 */

import { relativeDatesIn } from '../dates/dates.ts'
import {
  addedUnits,
  DISGUISED,
  isSaid,
  literalsIn,
  type Memory,
  plainText,
  removedUnits,
  runOf,
  sentences,
  type Unit,
  unitsOf,
  wordsIn,
} from './compared-words.ts'
import { formsOf, pairsIn, type Spoken, type Voices } from './voices.ts'

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
  const small = added.filter((unit) => doubtOf(unit, SILENT, neutral) === undefined)
  return smallWordsSaid(before, small, said) ? undefined : 'the words that come in are not theirs'
}

const SILENT: Voices = {
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

/** So many in a row, of which so many are only the others', are no coincidence. */
const RUN = 6
const RUN_FOREIGN = 2

/** What stood there before: it need not be said again. */
export type Neutral = { words: ReadonlySet<string>; text: string }

export function neutralOf(text: string): Neutral {
  return { words: formsOf(wordsIn(text)), text: plainText(text).toLowerCase() }
}

/** Why a sentence is not what persons said, rather than something they were shown; nothing where it is. */
export function doubtOf({ kind, text }: Unit, voices: Voices, neutral?: Neutral): string | undefined {
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
  // What it is called may be one word for it.
  const isName = kind === 'label' && words.length === 1 && alien.size === 0 && !MODAL.test(text)
  if (theirs * 2 < words.length && !isName) return 'most of its words are not theirs'
  if (alien.size * 2 > theirs) return 'too many of its words stand only in what was shown or answered'
  return doubtOfEnd(text, voices, neutral)
}

/** A name that one said whole is one word; of any other every part counts. */
function partsIn(text: string, { persons }: Voices): string[] {
  return wordsIn(text).flatMap(({ whole, parts }) => (persons.words.has(whole) ? [whole] : parts))
}

/** What says nothing by itself has to be said like that. A label may say nothing, but neither do nor leave. */
function doubtOfCommon({ kind, text }: Unit, { persons }: Voices): string | undefined {
  if (kind === 'label' && !MODAL.test(text)) return undefined
  const run = runOf(text)
  return run.trim() === '' || persons.runs.some((said) => said.includes(run))
    ? undefined
    : 'they did not say it like that'
}

const MODAL = /\b(?:always|never|not|no|don't|must|avoid|stop|only|without)\b|[不别勿没禁]/i

/** Behind a colon or a dash something of its own is said: words before it do not speak for it. */
function doubtOfEnd(text: string, { persons, others }: Voices, neutral: Neutral | undefined): string | undefined {
  for (const clause of text.split(/[;:：；]\s|\s[-–—]+\s|—/).slice(1)) {
    const words = partsIn(clause, { persons, others }).filter((word) => !neutral?.words.has(word))
    if (words.some((word) => others.words.has(word)) && !words.some((word) => persons.words.has(word)))
      return `${JSON.stringify(clause.trim())} stands only in what was shown or answered`
  }
  return undefined
}

/** A text that asks a model to save it will try to say it in the person's words: then it is taken over as it stands. */
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

/** The first sentence of a text that is not a person's, and why. */
export function firstDoubt(
  units: readonly Unit[],
  voices: Voices,
  neutral?: Neutral,
): { unit: Unit; why: string } | undefined {
  for (const unit of units) {
    const why = doubtOf(unit, voices, neutral)
    if (why !== undefined) return { unit, why }
  }
  return undefined
}

export function lineUnits(text: string): Unit[] {
  return sentences(text).filter(({ text: said }) => /[\p{L}\p{N}]/u.test(said))
}

const ENDING =
  /\b(?:forget|remov\w*|delet\w*|drop\w*|no longer|not any ?more|any ?more|anymore|obsolete|outdated|instead|chang\w*|mov\w*|wrong|replac\w*|stop\w*|cancel\w*|over|abandon\w*|withdrawn|revok\w*|never mind|scrap\w*)\b|忘|删|不再|取消|作废|改|换|不用了|移/i
const ALLOWING = /\b(?:fine|ok|okay|allowed|may|can|now)\b|可以|允许/i

const NEGATIVE = ['never', 'not', 'no', 'without', 'avoid', 'stop', '不', '别', '勿', '没', '禁止']
const POSITIVE = ['always', 'must', 'only', '必须', '总是', '始终']
const MODALS =
  /\b(?:never|not|no|nor|without|avoid|stop|always|must|only|cannot|\w+n't|dont)\b|禁止|必须|总是|始终|不|别|勿|没/g

/** More of a memory than this may not go without a word. */
const MOST_GONE = 1 / 3
const SHARED = 2

/** Why a memory may not lose what it would lose; nothing where it may. `said`: new messages of persons that are cited. */
export function keptBecause(before: Memory, after: Memory | null, said: readonly string[]): string | undefined {
  const had = formsOf(wordsIn(textOf(before)))
  const has = after ? formsOf(wordsIn(textOf(after))) : new Set<string>()
  const gone = [...had].filter((word) => !has.has(word))
  if (after && gone.length <= had.size * MOST_GONE) return undefined
  const name = formsOf(wordsIn(before.name))
  const description = formsOf(wordsIn(before.description))
  const about = new Set([...name, ...description])
  const half = Math.ceil(Math.min(name.size || about.size, description.size || about.size) / 2)
  const most = new Set([...about, ...gone])
  const need = Math.min(Math.max(SHARED, half), most.size)
  const isSaid = said.some((text) => {
    const shared = [...formsOf(wordsIn(text))].filter((word) => most.has(word))
    return shared.length >= need && clausesOf(text).some((clause) => ENDING.test(clause) && sharesAny(clause, most))
  })
  return isSaid ? undefined : 'the person did not say that it no longer holds'
}

function textOf({ name, description, body }: Memory): string {
  return `${name}\n${description}\n${body}`
}

/** A request for a piece of work may stand beside it: what ends has to be named where the ending is. */
function clausesOf(text: string): string[] {
  return plainText(text).split(/[.!?;,\n。！？；，]|\b(?:and|but|then)\b/)
}

function sharesAny(text: string, words: ReadonlySet<string>): boolean {
  return [...formsOf(wordsIn(text))].some((word) => words.has(word))
}

/** A "never" or "always" that comes or goes with a change and that the person did not say about it. */
export function turnedBy(
  removed: readonly Unit[],
  added: readonly Unit[],
  said: readonly string[],
): string | undefined {
  const old = modalsIn(removed)
  const fresh = modalsIn(added)
  const spoken = said.flatMap((text) => sentences(text)).map(({ text }) => plainText(text).toLowerCase())
  const about = formsOf(wordsIn([...removed, ...added].map(({ text }) => text).join('\n')))
  const near = spoken.filter((sentence) => sharesAny(sentence, about))
  for (const [key, modal] of fresh) if (!old.has(key) && !near.some((sentence) => heldIn(modal, sentence))) return modal
  for (const [key, modal] of old) {
    const isMeant = (sentence: string) => heldIn(modal, sentence) || ENDING.test(sentence) || ALLOWING.test(sentence)
    if (!fresh.has(key) && !near.some(isMeant)) return modal
  }
  return undefined
}

/** Each with the word that follows it: a "never" that moves to another sentence is another one. */
function modalsIn(units: readonly Unit[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const { text } of units) {
    const plain = plainText(text).toLowerCase()
    for (const match of plain.matchAll(MODALS)) {
      const modal = /n't$|^dont$|^cannot$|^nor$/.test(match[0]) ? 'not' : match[0]
      const next = wordsIn(plain.slice(match.index + match[0].length))[0]?.whole ?? ''
      found.set(`${groupOf(modal)} ${next}`, modal)
    }
  }
  return found
}

function groupOf(modal: string): string {
  return NEGATIVE.includes(modal) ? '-' : '+'
}

function heldIn(modal: string, sentence: string): boolean {
  const group = NEGATIVE.includes(modal) ? NEGATIVE : POSITIVE
  return Array.from(sentence.matchAll(MODALS), ([each]) =>
    /n't$|^dont$|^cannot$|^nor$/.test(each) ? 'not' : each,
  ).some((each) => group.includes(each))
}

/** Where nothing but small words came in, each of them was said; where it is a day, one was named. */
export function smallWordsSaid(before: Memory, added: readonly Unit[], said: readonly string[]): boolean {
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
