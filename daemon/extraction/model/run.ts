/**
 * One run of a model over what is new in a session: what it is told, what of its changes is let through, and how they are
 * finished before they are applied. Decides about changes as they are made; the fork sees to everything else.
 */
import type { Evidence } from '../../store/journal.ts'
import type { SaidMessage } from '../../store/said.ts'
import { localStamp } from '../local-time.ts'
import { statementsIn } from '../statements.ts'
import { extractionDirective, type NewMessage, TURNS } from './directive.ts'
import { datedText, excerptOf, relativeDaysIn, rule, type Spoken } from './provenance.ts'
import type { Voices } from './support.ts'

/** A message as it is told, with everything in it. */
export type Told = {
  id: string
  by: string
  text: string
  toolCalls: readonly { input: string }[]
  toolResults: readonly { text: string }[]
  at?: number
}

export type Draft = {
  file: string
  content: string | null
  expect: string | null
  because: { reason: string; evidence: readonly Evidence[] }
}

/** The memories that a run is about. */
export type Ground = {
  dir: string
  manifest: string
  textOf(file: string): string
  hashOf(file: string): string | undefined
  refuses(draft: Draft): Promise<string | undefined>
  factsOf(content: string): { type: 'user' | 'feedback' | 'project' | 'reference' | undefined; untrusted: boolean }
  markUntrusted(content: string): string
  evidenceIn(content: string): { names: string[]; text: string }
  /** The day's log, where memories go into logs. */
  log: string | undefined
  team: 'off' | 'on'
}

export type Part = {
  sessionId: string
  /** In order. */
  messages: readonly Told[]
  /** What the model calls each, by its id; empty where it has seen no names. */
  names: ReadonlyMap<string, string>
  /** Which of them are new. */
  news: readonly SaidMessage[]
}

/** What a fork needs for it. */
export type Extracting = {
  directive: string
  shown: { file: string; hash: string }[]
  check: (draft: Draft) => Promise<string | undefined>
  cite: (names: readonly string[], content: string | null) => { evidence: Evidence[] } | { refused: string }
  /** As they are to be applied. */
  finish: (drafts: readonly Draft[]) => Draft[]
  turns: number
}

export function extracting(ground: Ground, { sessionId, messages, names, news }: Part): Extracting {
  const fresh = new Set(news.map(({ uid }) => uid))
  const everything = messages.filter(({ by }) => isVoice(by)).map(spokenOf)
  const told = everything.filter(({ id }) => fresh.has(id))
  const spoken = new Map(told.map((message) => [message.id, message]))
  // A model that went on from a harness's own conversation has seen no names: it is given some.
  const own = new Map(told.map(({ id }, n) => [`m${n + 1}`, id]))
  const known = names.size > 0 ? names : own
  const nameOf = new Map([...known].map(([name, id]) => [id, name]))
  const listed: NewMessage[] = told.map(({ id, by, text }) => ({ name: nameOf.get(id) ?? '', by, text }))
  const logText = ground.log === undefined ? '' : ground.textOf(ground.log)
  const logHash = ground.log === undefined ? undefined : ground.hashOf(ground.log)

  const citedBy = (draft: Draft): Spoken[] => {
    const ids = new Set(draft.because.evidence.flatMap(({ messageIds }) => messageIds))
    return [...spoken.values()].filter(({ id }) => ids.has(id))
  }

  const voicesOf = (cited: readonly Spoken[]): Voices => {
    const persons = cited.filter(({ by }) => by === 'person')
    const confirmed = persons.flatMap((message) => confirmedBy(message, everything))
    const others = everything.filter(({ by, text }) => by !== 'person' && !confirmed.includes(text))
    return { persons: [...persons.map(({ text }) => text), ...confirmed], others: others.map(({ text }) => text) }
  }

  const rulingOf = (draft: Draft) => {
    const { file } = draft
    const before = ground.textOf(file)
    const cited = citedBy(draft)
    const content = draft.content === null ? null : ground.evidenceIn(draft.content).text
    const facts = ground.factsOf(content ?? before)
    const untrusted = facts.untrusted || ground.factsOf(before).untrusted
    return rule({ file, content, before, type: facts.type, untrusted, cited }, voicesOf(cited))
  }

  /** Line by line: each says for itself what it is. */
  const logged = (draft: Draft): { refused: string } | { content: string } => {
    const before = ground.textOf(draft.file)
    if (draft.content === null || !draft.content.startsWith(before))
      return { refused: `${draft.file} is a log: what it holds stays as it is, and new lines come after it` }
    const cited = citedBy(draft)
    const lines: string[] = []
    for (const line of draft.content
      .slice(before.length)
      .split('\n')
      .filter((one) => one.trim() !== '')) {
      const type = /^- \[(user|feedback|project|reference)\] \S/.exec(line)?.[1] as 'user' | undefined
      if (!type)
        return { refused: `a line of a log reads "- [type] what is to be remembered", not ${JSON.stringify(line)}` }
      const wish = { file: draft.file, content: line, before: '', type, untrusted: false, cited }
      const ruling = rule(wish, voicesOf(cited))
      if ('refused' in ruling) return ruling
      lines.push(ruling.trust === 'untrusted' && !line.endsWith(UNTRUSTED) ? `${line} ${UNTRUSTED}` : line)
    }
    const start = before === '' || before.endsWith('\n') ? before : `${before}\n`
    return { content: datedText(before, `${start}${lines.join('\n')}\n`, cited) }
  }

  const finished = (draft: Draft): Draft => {
    const cited = citedBy(draft)
    const { content } = draft
    const evidence = draft.because.evidence.map((each) => {
      const message = spoken.get(each.messageIds[0] ?? '')
      return message ? { ...each, excerpt: excerptOf(message.text, content ?? ground.textOf(draft.file)) } : each
    })
    const because = { ...draft.because, evidence }
    if (content === null) return { ...draft, because }
    if (ground.log !== undefined) {
      const log = logged(draft)
      return 'refused' in log ? draft : { ...draft, because, content: log.content }
    }
    const dated = datedText(ground.textOf(draft.file), ground.evidenceIn(content).text, cited)
    const ruling = rulingOf(draft)
    const untrusted = 'trust' in ruling && ruling.trust === 'untrusted'
    return { ...draft, because, content: untrusted ? ground.markUntrusted(dated) : dated }
  }

  return {
    turns: TURNS,
    directive: extractionDirective({
      memoryDir: ground.dir,
      news: listed,
      transcript: names.size > 0 ? 'shown' : 'unnamed',
      manifest: ground.manifest,
      team: ground.team,
      log: ground.log === undefined ? undefined : { file: ground.log, text: logText },
    }),
    shown: ground.log !== undefined && logHash !== undefined ? [{ file: ground.log, hash: logHash }] : [],
    cite: (given, content) => {
      const cited = given.length > 0 ? given : content === null ? [] : ground.evidenceIn(content).names
      const found = cited.flatMap((name) => spoken.get(known.get(name.trim()) ?? '') ?? [])
      if (found.length > 0) return { evidence: [...new Set(found)].map((message) => evidenceOf(sessionId, message)) }
      const [first, last] = [listed[0]?.name, listed.at(-1)?.name]
      return { refused: `name the new messages that this rests on (${first} to ${last}) as evidence` }
    },
    check: async (draft) => {
      if (ground.log !== undefined && draft.file !== ground.log) return `everything goes into ${ground.log}`
      if (ground.log !== undefined) {
        const log = logged(draft)
        return 'refused' in log ? log.refused : ground.refuses({ ...draft, content: log.content })
      }
      const ruling = rulingOf(draft)
      if ('refused' in ruling) return ruling.refused
      const done = finished(draft)
      const days = done.content === null ? [] : relativeDaysIn(ground.textOf(draft.file), done.content)
      if (days.length > 0) return `${days.join(', ')}: name the day itself, as in 2026-03-31`
      return ground.refuses(done)
    },
    finish: (drafts) => drafts.map(finished),
  }
}

const UNTRUSTED = '(untrusted)'

function isVoice(by: string): boolean {
  return by === 'person' || by === 'agent' || by === 'tool'
}

function spokenOf({ id, by, text, toolCalls, toolResults, at }: Told): Spoken {
  const all = [text, ...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
  return { id, by: by as Spoken['by'], text: all.filter((each) => each !== '').join('\n'), at: at ?? 0 }
}

/** "Exactly, keep doing it like that": then what the agent had said is what the person wants. */
function confirmedBy(message: Spoken, all: readonly Spoken[]): string[] {
  const before = all.slice(0, all.indexOf(message)).findLast(({ by, text }) => by === 'agent' && text !== '')
  if (!before) return []
  const said = { text: message.text, atIso: localStamp(message.at) }
  const isAnswer = statementsIn({ ...said, previousAssistant: before.text }).some(({ type }) => type === 'feedback')
  return isAnswer && statementsIn(said).length === 0 ? [before.text] : []
}

function evidenceOf(sessionId: string, { id, text, at }: Spoken): Evidence {
  return { sessionId, messageIds: [id], excerpt: text.slice(0, 500), at: new Date(at).toISOString() }
}
