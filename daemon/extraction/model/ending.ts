/**
 * What a person has to have said before a memory may lose its words or turn into its opposite: a word of ending for the
 * first, the word itself for the second, each about what the memory is about. Pure.
 */
import { relativeDatesIn } from '../dates/dates.ts'
import { type Memory, sentences, type Unit } from './units.ts'
import { formsOf } from './voices.ts'
import { plainText, wordsIn } from './words.ts'

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
