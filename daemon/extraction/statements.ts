/** What a person states in a message that matters later, found by rules. Precision first: in doubt, nothing. Pure. */
import type { MemoryType } from '../../schema/values.ts'
import { absoluteDates, datePatterns, relativeDatesIn } from './dates/dates.ts'
import { chinese } from './rules/chinese-cues.ts'
import { ADDRESS, ADDRESS_MARK, type Cue, DATE_MARK, SYSTEM, SYSTEM_MARK, VETO } from './rules/cue.ts'
import { doubts, messageDoubts, taskStart, taskStartChinese } from './rules/doubts.ts'
import { english } from './rules/english-cues.ts'
import { partWords } from './session-words.ts'

export type Statement = ReturnType<typeof statement>

/** Weights are sums of tenths: a little less than 1 is 1. */
const ENOUGH = 0.95
const ENOUGH_TOGETHER = 1.1
/** Enough for a sentence beside a statement to belong to it. */
const BELONGS = 0.3
const PREVIOUS_UNITS = 2_000

const POINTS_BACK = /^(?:\w+ ){1,3}(?:it|that|this|them|those)\b.{0,16}$/i
/** "Each row needs a key. add one": the sentence before was only said for the order. */
const WHAT_LACKS = /^(?:\w+ ){1,3}(?:one|some)[.!]*$/i
const MEANT_TO_LAST = /^(?:remember|always or never|scope: (?:from now on|this repository))/
const CONTEXT_LESS = 0.8

const REDACTED = /\[redacted:[\w-]+\]/

type Said = { text: string; atIso: string; previousAssistant?: string | undefined }

/** Credentials must be redacted already; a clause with a redacted one is left out. */
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

/** V8 compiles a pattern once for one-byte and once for other texts, and again when it is used more than once. */
const WARM_UP_TEXTS = ['we always use it', '我们 always 用', 'we always use it', '我们 always 用']

/** Compiling takes 100 ms and more, so the caller can let other work run between the steps. */
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
  said: string
  /** With quotes and code blanked, and dates, addresses and systems marked: cues are matched in this. */
  heard: string
}

/** A dot in a version, a host, a file name or an abbreviation ends no sentence. */
const BREAK =
  /(?<=[。！？；\n])|(?<=[!?](?:["')\]]|\s*))(?=\s+\S)|(?<=(?<!\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|cf))[.;…]["')\]]?)\s+(?=\S)/i

const CAP_SENTENCES = 60

/** A new thought that follows the last one after nothing but a comma or a dash. */
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

/** No cue matches this sign. */
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

/** "The index is missing. create it": what a short order points back at was only said for the order. */
function lessAsContext(each: Judged, index: number, all: readonly Judged[]): Judged {
  const next = all[index + 1]
  if (next?.ruledOutBy !== 'a piece of work') return each
  if (WHAT_LACKS.test(next.heard) && !each.cues.some((cue) => MEANT_TO_LAST.test(cue))) return { ...each, weight: 0 }
  return each.type !== 'feedback' && POINTS_BACK.test(next.heard)
    ? { ...each, weight: each.weight - CONTEXT_LESS }
    : each
}

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

function follows(previous: Judged, each: Judged): boolean {
  if (previous.remedyFollows && each.ruledOutBy === 'a piece of work') return true
  if (each.ruledOutBy !== undefined || each.heard.length > 120) return false
  return previous.remedyFollows || /\b(?:those|them|they)\b/i.test(each.heard)
}

function statement(run: readonly Judged[], atIso: string) {
  const { type } = run.reduce((best, each) => (each.weight > best.weight ? each : best))
  const said = run.map((each) => each.said)
  // Dated as one text: "the Tuesday after" refers to the sentence before.
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

const FILLER =
  /^(?:(?:ok(?:ay)?|so|and|but|also|no|nope|yes|yep|yeah|ugh|hey|hm+|well|please|pls|fyi|btw|heads[- ]?up|remember(?: that)?|note(?: that)?|keep in mind(?: that)?|context|correct|right|haha|lol|one more thing|in general|generally|记住|记一下|对|没错|好的?)(?:[,:，：.!！]\s*|\s+))+/i

const WHY =
  /(?:\bbecause\b|\bbc\b|\bcuz\b|\bsince (?!\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|last|then)|\bdue to\b|\bso that\b|\b(?:the )?(?:only |main |real )?reason (?:is|being)\b|\botherwise\b|因为|由于|不然|否则|上次|原因是)\s*(.{4,})$/i
const BESIDE =
  /^.{4,}?(?:,|，| - | — |\. |。)\s*((?:(?:they|we|it|our|my|nobody|reviewers|ci|the|that|legal|security|finance)\b|之前|上次).{6,}|.{2,30}(?:要求的|看不懂|查得很严|搞挂.{0,6}|出过事故))$/i
const WHEN =
  /\b((?:whenever|when(?! i say)|before|after|every time|each time|for every|in every|if you|anything|unless)\b[^,.;，。]{4,80})|((?:每次|以后|凡是|之前先|从.{1,12}开始)[^，。；]{0,40})/i

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

/** On equal weights the first wins: its cues match by chance less often. */
const ORDER: readonly MemoryType[] = ['reference', 'user', 'project', 'feedback']

/** Cues with these names count even where a sentence begins like an order: "from now on run the linter". */
const STANDING =
  /^(?:scope|remember|for the future|we always|from|a habit|less of that|look there|ask before|记住|以后|从)/

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
    // Half of the weight for other types counts: the sentence is durable either way.
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
