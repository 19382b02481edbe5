/** Who said what, taken apart once for a run: what persons said themselves, and what stood anywhere else. */

import { localStamp, partWords } from '../session-words.ts'
import { statementsIn } from '../statements.ts'
import { plainText, runOf, sentences, type Word, wordsIn } from './compared-words.ts'

/** A message as it is told. `shown`: what was asked of tools and what they answered. */
export type Spoken = {
  id: string
  by: 'person' | 'agent' | 'tool'
  text: string
  shown: readonly string[]
  at: number
  minutesEast?: number | undefined
}

/** `pairs`: neighbours among the words that count. `runs`: every word. `text`: for what is said to the letter. */
export type Voice = { words: Set<string>; pairs: Set<string>; runs: string[]; text: string }

export type Voices = { persons: Voice; others: Voice }

/** As much of each as a model is told, its beginning and its end. */
const TEXT = { head: 20_000, tail: 4_000 }
const SHOWN = { head: 1_200, tail: 400 }
/** Who agrees says little. */
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

/** Who says one of them has said the other. */
const SAME: readonly (readonly string[])[] = [
  ['db', 'database'],
  ['pr', 'prs', 'pull request'],
  ['prod', 'production'],
  ['config', 'configuration'],
  ['docs', 'documentation'],
  ['deps', 'dependencies'],
  ['env', 'environment'],
  ['dev', 'development'],
  ['ts', 'typescript'],
  ['js', 'javascript'],
  ['msg', 'message'],
  ['auth', 'authentication'],
  ['k8s', 'kubernetes'],
].map((words) => [...formsOf(wordsIn(words.join(' ')))])

function withSame(words: Set<string>): void {
  for (const same of SAME) if (same.some((word) => words.has(word))) for (const word of same) words.add(word)
}

export function emptyVoice(): Voice {
  return { words: new Set(), pairs: new Set(), runs: [], text: '\n' }
}

export function hear(voice: Voice, text: string): void {
  if (text.trim() === '') return
  const words = wordsIn(text)
  for (const word of formsOf(words)) voice.words.add(word)
  for (const pair of pairsIn(words)) voice.pairs.add(pair)
  voice.runs.push(runOf(text))
  voice.text += `${plainText(text).toLowerCase()}\n`
}

export function formsOf(words: readonly Word[]): Set<string> {
  return new Set(words.flatMap(({ whole, parts }) => [whole, ...parts]))
}

export function pairsIn(words: readonly Word[]): string[] {
  const parts = words.flatMap((word) => word.parts)
  return parts.slice(1).map((part, n) => `${parts[n]} ${part}`)
}

function ends(text: string, { head, tail }: { head: number; tail: number }): string {
  return text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`
}

/** "Exactly, keep doing it like that": then what the agent had said of itself is what the person wants. */
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

/** Without what it quotes, and without what it tells of that which a tool has shown it. */
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
