/** Who said what in a session: the persons' own words, and everything else. */
import { localStamp, partWords } from '../session-words.ts'
import { statementsIn } from '../statements.ts'
import { formsIn, plainText, runOf, sentences, type Word, wordsIn } from './compared-words.ts'

export type Spoken = {
  id: string
  by: 'person' | 'agent' | 'tool'
  text: string
  shown: readonly string[]
  at: number
  minutesEast?: number | undefined
}

/** `pairs`: neighbouring words that count. `runs`: every word. `text`: for literals. */
export type Voice = { words: Set<string>; pairs: Set<string>; runs: string[]; text: string }

export type Voices = { persons: Voice; others: Voice }

/** As much as a model is told. */
const TEXT = { head: 20_000, tail: 4_000 }
const SHOWN = { head: 1_200, tail: 400 }
const CONFIRMING_UNITS = 600

export function voicesOf(messages: readonly Spoken[]): Voices {
  const voices = { persons: emptyVoice(), others: emptyVoice() }
  for (const { by, text, shown } of messages) {
    for (const piece of shown) hear(voices.others, ends(piece, SHOWN))
    if (by !== 'person') {
      hear(voices.others, ends(text, by === 'tool' ? SHOWN : TEXT))
      continue
    }
    const { own, pasted } = partWords(text, { sparesProse: true })
    hear(voices.persons, own)
    withSame(voices.persons.words)
    hear(voices.others, ends(pasted, TEXT))
  }
  for (const answer of confirmedIn(messages)) hear(voices.persons, answer)
  return voices
}

/** Synonyms: a person who says one has said the other. */
const SAME = `db database, pr prs pull request, prod production, config configuration, docs documentation,
  deps dependencies, env environment, dev development, ts typescript, js javascript, msg message, auth authentication,
  k8s kubernetes`
  .split(',')
  .map((words) => [...formsIn(words)])

function withSame(words: Set<string>): void {
  for (const same of SAME) if (same.some((word) => words.has(word))) for (const word of same) words.add(word)
}

export function emptyVoice(): Voice {
  return { words: new Set(), pairs: new Set(), runs: [], text: '\n' }
}

export function hear(voice: Voice, text: string): void {
  if (text.trim() === '') return
  const words = wordsIn(text)
  for (const { whole, parts } of words) for (const word of [whole, ...parts]) voice.words.add(word)
  for (const pair of pairsIn(words)) voice.pairs.add(pair)
  voice.runs.push(runOf(text))
  voice.text += `${plainText(text).toLowerCase()}\n`
}

export function pairsIn(words: readonly Word[]): string[] {
  const parts = words.flatMap((word) => word.parts)
  return parts.slice(1).map((part, n) => `${parts[n]} ${part}`)
}

function ends(text: string, { head, tail }: { head: number; tail: number }): string {
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`
}

/** "Exactly, keep doing it like that": the agent's own words before that count as the person's. */
function confirmedIn(messages: readonly Spoken[]): string[] {
  const tools = emptyVoice()
  let answer: string | undefined
  const confirmed: string[] = []
  for (const { by, text, shown, at } of messages) {
    for (const piece of [...shown, ...(by === 'tool' ? [text] : [])]) hear(tools, ends(piece, SHOWN))
    if (by === 'agent' && text !== '') answer = ends(text, TEXT)
    if (by !== 'person') continue
    if (answer !== undefined && isConfirming(text, at, answer)) confirmed.push(ownOf(answer, tools))
    answer = undefined
  }
  return confirmed
}

function isConfirming(text: string, at: number, previousAssistant: string): boolean {
  if (text.length > CONFIRMING_UNITS) return false
  const said = { text, atIso: localStamp(at) }
  const isAnswer = statementsIn({ ...said, previousAssistant }).some(({ type }) => type === 'feedback')
  return isAnswer && statementsIn(said).length === 0
}

const QUOTED =
  /```[\s\S]*?(?:```|$)|`[^`\n]*`|^\s*>.*$|"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|「[^」\n]*」|『[^』\n]*』|(?<!\w)'[^'\n]{2,}'(?!\w)|‘[^’\n]{2,}’(?!\w)/gm

/** Without quotes and what repeats the results of tools. */
function ownOf(answer: string, tools: Voice): string {
  const isTold = (sentence: string) => {
    const pairs = pairsIn(wordsIn(sentence))
    return pairs.length > 0 && pairs.filter((pair) => tools.pairs.has(pair)).length >= pairs.length / 2
  }
  return sentences(answer.replace(QUOTED, ' '))
    .filter(({ text, kind }) => kind !== 'code' && !isTold(text))
    .map(({ text }) => text)
    .join('\n')
}
