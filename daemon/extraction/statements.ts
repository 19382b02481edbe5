/**
 * What a person states in a message that will still matter in later sessions, found by rules and without a model.
 * Precision first: what is asked, quoted, pasted, meant for now or said in jest yields nothing. The text has to come here
 * with its credentials redacted; a sentence that had one is left out. Pure.
 */
import type { MemoryType } from '../../schema/memory.ts'
import { absoluteDates, datePatterns } from './dates/dates.ts'
import { type Judged, judge, patterns, ruledOut, total } from './judge.ts'
import { ownWords } from './own-words.ts'
import { type Sentence, sentencesIn } from './sentences.ts'
import { type Wording, worded } from './wording.ts'

export type Said = { text: string; atIso: string; previousAssistant?: string | undefined }

export type Statement = Wording & {
  type: MemoryType
  /** Verbatim, as evidence. */
  quote: string
  weight: number
  /** Which rules found it. */
  cues: string[]
}

/** Weights are tenths added up: a hair less than 1 is 1. */
const ENOUGH = 0.95
/** Two neighbours that each say half of it. */
const ENOUGH_TOGETHER = 1.1
/** A neighbour of a statement that belongs to it. */
const BELONGS = 0.3
/** The end of an answer is what one answers to. */
const PREVIOUS_UNITS = 2_000

const POINTS_BACK = /^(?:\w+ ){1,3}(?:it|that|this|them|those)\b.{0,16}$/i
/** "Each row needs a key. add one": even a rule was only said for what lacks it. */
const WHAT_LACKS = /^(?:\w+ ){1,3}(?:one|some)[.!]*$/i
/** Cues of what was said for more than the one thing that lacks it. */
const MEANT_TO_LAST = /^(?:remember|always or never|scope: (?:from now on|this repository))/
const CONTEXT_LESS = 0.8

const REDACTED = /\[redacted:[\w-]+\]/

export function statementsIn({ text, atIso, previousAssistant }: Said): Statement[] {
  const own = ownWords(text)
  if (own === '' || ruledOut(own)) return []
  const answering = (previousAssistant ?? '').trim().slice(-PREVIOUS_UNITS)
  const judged = sentencesIn(own)
    .flatMap(withoutSecrets)
    .map((sentence) => judge(sentence, { answering }))
  return groups(judged.map(lessAsContext))
    .map((group) => statement(group, atIso))
    .sort((a, b) => b.weight - a.weight)
}

/** One that has a byte for each letter, and one that has not. */
const ANY_TEXTS = ['we always use it', '我们 always 用']

/**
 * What an engine makes of a pattern it makes when it looks with it, once roughly and once well, and for all of these that
 * takes a tenth of a second and more: in steps, between which others can have their turn.
 */
export function* readied(): Generator<void> {
  for (const pattern of [...patterns, ...datePatterns])
    for (const text of [...ANY_TEXTS, ...ANY_TEXTS]) {
      pattern.lastIndex = 0
      pattern.test(text)
      pattern.lastIndex = 0
      yield
    }
}

/** The clauses around a credential go with it: they are about it. */
function withoutSecrets(sentence: Sentence): Sentence[] {
  const { said } = sentence
  if (!REDACTED.test(said)) return [sentence]
  const clauses = said.replace(/[(（][^)）]*\[redacted:[^)）]*[)）]/g, '').split(/[,，](?=\s|[\p{Script=Han}])/u)
  const first = clauses.findIndex((clause) => REDACTED.test(clause))
  return sentencesIn((first === -1 ? clauses : clauses.slice(0, first)).join(','))
}

/** "The index is missing. create it": what a short order points back at was said for its sake. */
function lessAsContext(each: Judged, index: number, all: readonly Judged[]): Judged {
  const next = all[index + 1]
  if (next?.ruledOutBy !== 'a piece of work') return each
  if (WHAT_LACKS.test(next.heard) && !each.cues.some((cue) => MEANT_TO_LAST.test(cue))) return { ...each, weight: 0 }
  return each.type !== 'feedback' && POINTS_BACK.test(next.heard)
    ? { ...each, weight: each.weight - CONTEXT_LESS }
    : each
}

/** Runs of sentences that stand together and say enough. */
function groups(judged: readonly Judged[]): Judged[][] {
  const runs: Judged[][] = []
  for (const [index, each] of judged.entries()) {
    const previous = judged[index - 1]
    const run = previous && runs.at(-1)?.at(-1) === previous ? runs.at(-1) : undefined
    if (each.weight < BELONGS && !(run && previous && follows(previous, each))) continue
    // Two that each say enough are two memories: one of them may be known already, or rejected.
    const another = each.weight >= ENOUGH && run?.some(({ weight }) => weight >= ENOUGH)
    if (run && !another) run.push(each)
    else runs.push([each])
  }
  return runs.filter((run) => {
    const strongest = Math.max(...run.map(({ weight }) => weight))
    return strongest >= ENOUGH || (run.length > 1 && total(run) >= ENOUGH_TOGETHER)
  })
}

/** The remedy of a complaint, or a plain sentence that points back. */
function follows(previous: Judged, each: Judged): boolean {
  if (previous.remedyFollows && each.ruledOutBy === 'a piece of work') return true
  if (each.ruledOutBy !== undefined || each.heard.length > 120) return false
  return previous.remedyFollows || /\b(?:those|them|they)\b/i.test(each.heard)
}

function statement(run: readonly Judged[], atIso: string): Statement {
  const strongest = run.reduce((best, each) => (each.weight > best.weight ? each : best))
  const type = strongest.type ?? 'project'
  const said = run.map((each) => each.said)
  return {
    type,
    // One text for all of them: "the Tuesday after" looks back at the sentence before.
    ...worded(type, resolved(said, atIso)),
    quote: said.join(' '),
    weight: total(run),
    cues: run.flatMap(({ cues }) => cues),
  }
}

function resolved(sentences: readonly string[], atIso: string): string[] {
  return absoluteDates(sentences.join('\n'), atIso).text.split('\n')
}
