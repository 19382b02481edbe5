/** Words a memory from what a person said: a name, a description, and a body in the form its type has. Pure. */
import type { MemoryType } from '../../schema/memory.ts'

export type Wording = { name: string; description: string; body: string }

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

export function worded(type: MemoryType, sentences: readonly string[]): Wording {
  const [first = ''] = sentences
  const fact = joined([bare(first), ...sentences.slice(1)])
  const line = fact.replace(/\s+/g, ' ')
  return {
    name: shortened(line.split(' ').slice(0, NAME_WORDS).join(' '), NAME_UNITS),
    description: shortened(line, DESCRIPTION_UNITS),
    body: type === 'feedback' || type === 'project' ? `${fact}${whyAndHow(type, fact)}\n` : `${fact}\n`,
  }
}

function whyAndHow(type: MemoryType, fact: string): string {
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

function joined(sentences: readonly string[]): string {
  return sentences.map(closed).join(' ')
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
