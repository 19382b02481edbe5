/**
 * What a person states in a message that will still matter in later sessions, found by rules and without a model.
 * Precision first: what is asked, quoted, pasted, meant for now or said in jest yields nothing. Pure.
 */
import type { MemoryType } from '../../schema/memory.ts'
import { absoluteDates, datePatterns, relativeDatesIn } from './dates/dates.ts'
import { chinese } from './rules/chinese-cues.ts'
import { ADDRESS, ADDRESS_MARK, type Cue, DATE_MARK, SYSTEM, SYSTEM_MARK, VETO } from './rules/cue.ts'
import { doubts, messageDoubts, taskStart, taskStartChinese } from './rules/doubts.ts'
import { english } from './rules/english-cues.ts'
import { partWords } from './session-words.ts'

export type Statement = {
  type: MemoryType
  name: string
  description: string
  body: string
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

type Said = { text: string; atIso: string; previousAssistant?: string | undefined }

/** The text has to come with its credentials redacted; a sentence that had one is left out. */
export function statementsIn({ text, atIso, previousAssistant = '' }: Said): Statement[] {
  const { own } = partWords(text)
  if (own === '' || messageDoubts.some(({ pattern }) => pattern.test(own))) return []
  const answering = previousAssistant.trim().slice(-PREVIOUS_UNITS)
  const judged = sentencesIn(own)
    .flatMap(withoutSecrets)
    .map((sentence) => judge(sentence, answering))
  return groups(judged.map(lessAsContext))
    .map((group) => statement(group, atIso))
    .sort((a, b) => b.weight - a.weight)
}

const PATTERNS: readonly RegExp[] = [
  ...[...english, ...chinese].flatMap(({ pattern, to }) => (to ? [pattern, to] : [pattern])),
  ...[...messageDoubts, ...doubts].map(({ pattern }) => pattern),
  ...[taskStart, taskStartChinese, ...datePatterns],
]

/** V8 compiles a pattern for texts of one byte a letter and for others, and each again once it is used more than once. */
const WARM_UP_TEXTS = ['we always use it', '我们 always 用', 'we always use it', '我们 always 用']

/** Compiling takes a tenth of a second and more: in steps, between which others can have their turn. */
export function* compilePatterns(): Generator<void> {
  for (const pattern of PATTERNS)
    for (const text of WARM_UP_TEXTS) {
      pattern.lastIndex = 0
      pattern.test(text)
      pattern.lastIndex = 0
      yield
    }
}

type Sentence = {
  /** As typed. */
  said: string
  /** The same with quotes and code blanked, dates, addresses and systems marked: what cues are looked for in. */
  heard: string
}

/** Not every dot ends a sentence: versions, hosts, files and what is usually shortened. */
const BREAK =
  /(?<=[。！？；\n])|(?<=[!?](?:["')\]]|\s*))(?=\s+\S)|(?<=(?<!\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|cf))[.;…]["')\]]?)\s+(?=\S)/i

/** More sentences than these are a text, not a message. */
const CAP_SENTENCES = 60

/** A new thought that people tie to the last one with nothing but a comma or a dash. */
const ASIDE =
  /(?:,|，| -+| —)\s+(?=(?:ok(?:ay)? )?(?:now|anyway|anyways|can you|could you|would you|back to|also (?:the|fix|please|can)|btw)\b)|(?:,|，)\s*(?=(?:顺便|现在先|今天先|你帮我|帮我|today 先))/i

function sentencesIn(text: string): Sentence[] {
  return text
    .split(BREAK)
    .flatMap((part) => part.split(ASIDE))
    .map((part) => part.replace(/^[\s,，。.;；:：)\]-]+/u, '').trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .slice(0, CAP_SENTENCES)
    .map((said) => ({ said, heard: heard(said) }))
}

/** No cue has this sign; a name in quotes shows as a row of it. */
const BLANK = '•'
const QUOTED = /`[^`]*`|"[^"]*"|“[^”]*”|「[^」]*」|『[^』]*』|(?<![\w])'[^'\n]{2,}'(?!\w)|‘[^’\n]{2,}’(?!\w)/g

function heard(said: string): string {
  const blanked = said.replace(QUOTED, (quote) => BLANK.repeat(quote.length)).replace(/\b\d{4}-\d\d-\d\d\b/g, DATE_MARK)
  return relativeDatesIn(blanked)
    .reduce((marked, date) => marked.replace(date, ` ${DATE_MARK} `), blanked)
    .replace(ADDRESS, ADDRESS_MARK)
    .replace(SYSTEM, (name) => SYSTEM_MARK + name)
    .replace(/ {2,}/g, ' ')
    .replace(/’/g, "'")
    .trim()
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
  const { type } = run.reduce((best, each) => (each.weight > best.weight ? each : best))
  const said = run.map((each) => each.said)
  // One text for all of them: "the Tuesday after" looks back at the sentence before.
  const dated = absoluteDates(said.join('\n'), atIso).text.split('\n')
  return {
    ...worded(type, dated),
    type,
    quote: said.join(' '),
    weight: total(run),
    cues: run.flatMap(({ cues }) => cues),
  }
}

const NAME_WORDS = 8
const NAME_UNITS = 60
const DESCRIPTION_UNITS = 150

/** What people say before they come to it. */
const FILLER =
  /^(?:(?:ok(?:ay)?|so|and|but|also|no|nope|yes|yep|yeah|ugh|hey|hm+|well|please|pls|fyi|btw|heads[- ]?up|remember(?: that)?|note(?: that)?|keep in mind(?: that)?|context|correct|right|haha|lol|one more thing|in general|generally|记住|记一下|对|没错|好的?)(?:[,:，：.!！]\s*|\s+))+/i

const WHY =
  /(?:\bbecause\b|\bbc\b|\bcuz\b|\bsince (?!\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|last|then)|\bdue to\b|\bso that\b|\b(?:the )?(?:only |main |real )?reason (?:is|being)\b|\botherwise\b|因为|由于|不然|否则|上次|原因是)\s*(.{4,})$/i
/** A reason that only stands beside what it explains. */
const BESIDE =
  /^.{4,}?(?:,|，| - | — |\. |。)\s*((?:(?:they|we|it|our|my|nobody|reviewers|ci|the|that|legal|security|finance)\b|之前|上次).{6,}|.{2,30}(?:要求的|看不懂|查得很严|搞挂.{0,6}|出过事故))$/i
const WHEN =
  /\b((?:whenever|when(?! i say)|before|after|every time|each time|for every|in every|if you|anything|unless)\b[^,.;，。]{4,80})|((?:每次|以后|凡是|之前先|从.{1,12}开始)[^，。；]{0,40})/i

/** A name, a description, and a body in the form its type has. */
function worded(type: MemoryType, [first = '', ...others]: readonly string[]) {
  const fact = [bare(first), ...others].map(closed).join(' ')
  const line = fact.replace(/\s+/g, ' ')
  return {
    name: shortened(line.split(' ').slice(0, NAME_WORDS).join(' '), NAME_UNITS),
    description: shortened(line, DESCRIPTION_UNITS),
    body: `${fact}${whyAndHow(type, fact)}\n`,
  }
}

function whyAndHow(type: MemoryType, fact: string): string {
  if (type !== 'feedback' && type !== 'project') return ''
  const why = WHY.exec(fact)?.[1] ?? (type === 'feedback' ? BESIDE.exec(fact)?.[1] : undefined)
  const how = type === 'feedback' ? WHEN.exec(fact)?.[0] : undefined
  return [why && `\n\n**Why:** ${closed(why)}`, how && `\n\n**How to apply:** ${closed(how)}`].filter(Boolean).join('')
}

function bare(sentence: string): string {
  const rest = sentence.replace(FILLER, '')
  // A sentence of filler only is all there is to say.
  const kept = rest.length >= 8 ? rest : sentence
  return kept.charAt(0).toUpperCase() + kept.slice(1)
}

function closed(sentence: string): string {
  const trimmed = sentence.trim().replace(/[\s,，;；:：]+$/u, '')
  return /[.!?。！？…)）"”」`]$/u.test(trimmed) ? trimmed : `${trimmed}${/\p{Script=Han}$/u.test(trimmed) ? '。' : '.'}`
}

function shortened(text: string, units: number): string {
  const whole = text.replace(/[\s,.;:!?。，！？]+$/u, '')
  if (whole.length <= units) return whole
  const cut = [...whole].slice(0, units - 1).join('')
  return `${cut.replace(/\s+\S*$/u, '') || cut}…`
}

type Judged = Sentence & {
  type: MemoryType
  weight: number
  ruledOutBy: string | undefined
  cues: string[]
  remedyFollows: boolean
}

/** Where two types weigh the same, the one that is harder to see by chance. */
const ORDER: readonly MemoryType[] = ['reference', 'user', 'project', 'feedback']

/** Cues that say what a sentence is about hold even where it begins like an order: "from now on run the linter". */
const STANDING =
  /^(?:scope|remember|for the future|we always|from|a habit|less of that|look there|ask before|记住|以后|从)/

/** Weighs one sentence: what its cues say for each type, less what speaks against it. */
function judge(sentence: Sentence, answering: string): Judged {
  const { heard } = sentence
  const isChinese = /\p{Script=Han}/u.test(heard)
  const cues = (isChinese ? [...english, ...chinese] : english).filter(
    (cue) => counts(cue, answering) && cue.pattern.test(heard),
  )
  const none: Judged = {
    ...sentence,
    type: 'project',
    weight: 0,
    ruledOutBy: undefined,
    cues: cues.map(({ name }) => name),
    remedyFollows: cues.some((cue) => cue.remedyFollows),
  }
  const against = doubts.filter(({ pattern }) => pattern.test(heard))
  const veto = against.find(({ weight }) => weight === VETO)
  if (veto) return { ...none, ruledOutBy: veto.name }
  const isTask = taskStart.test(heard) || (isChinese && taskStartChinese.test(heard))
  if (isTask && !cues.some(({ name }) => STANDING.test(name))) return { ...none, ruledOutBy: 'a piece of work' }
  if (cues.length === 0) return none

  const sum = (type: Cue['type']) => total(cues.filter((cue) => cue.type === type))
  const sums = ORDER.map((type) => ({ type, weight: sum(type) }))
  const { type, weight } = sums.reduce((best, each) => (each.weight > best.weight ? each : best))
  const less = total(against.filter((doubt) => !doubt.against || doubt.against.includes(type)))
  return {
    ...none,
    // Half of what speaks for the other types: it is durable either way.
    weight: weight + sum('any') + (total(cues) - weight - sum('any')) / 2 - less,
    type: weight > 0 ? type : 'project',
  }
}

function counts(cue: Cue, answering: string): boolean {
  if (cue.to) return cue.to.test(answering)
  return answering !== '' || !cue.answers
}

function total(weighed: readonly { weight: number }[]): number {
  return weighed.reduce((sum, { weight }) => sum + weight, 0)
}
