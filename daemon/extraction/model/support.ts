/**
 * Whose words a sentence is made of. A model may cite a person's message and write down what a web page told it to: what
 * counts is where the words stand, not what was cited. Pure.
 */
import { isSaid, literalsIn } from './literals.ts'
import { sentences, type Unit } from './units.ts'
import { formsOf, pairsIn, type Voices } from './voices.ts'
import { DISGUISED, plainText, runOf, wordsIn } from './words.ts'

/** So many in a row, of which so many are only the others', are no coincidence. */
const RUN = 6
const RUN_FOREIGN = 2

/** What stood there before: nobody says it now. */
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
