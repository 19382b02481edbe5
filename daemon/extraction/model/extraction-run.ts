/** One run of a model over what is new in a session: its prompt, the checks of its changes, and their last touches. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Draft } from '../../agent/agent.ts'
import type { SessionMessage } from '../../agent/rendering.ts'
import { type ChangeRun, evidenceIn, markUntrusted, memoryOf } from '../../memory/change-run.ts'
import type { Evidence } from '../../memory/journal.ts'
import type { MessageRow } from '../../sessions/message-table.ts'
import { formsIn, type Memory, withoutGuess } from './compared-words.ts'
import { extractionDirective, TURNS } from './extraction-directive.ts'
import { datedText, linesAdded, relativeDaysIn, shownTail, tooLong, withLines } from './log-lines.ts'
import { rule } from './provenance.ts'
import { hear, type Spoken, type Voices, voicesOf } from './voices.ts'

export type Ground = { dir: string; changes: ChangeRun; log: string | undefined; team: boolean }

export type Part = {
  sessionId: string
  messages: readonly SessionMessage[]
  /** Ids by the names the model knows; empty where it has seen no names. */
  names: ReadonlyMap<string, string>
  news: readonly MessageRow[]
  nowMs: number
}

export function extractionRun(ground: Ground, { sessionId, messages, names, news, nowMs }: Part) {
  const { changes } = ground
  const fresh = new Set(news.map(({ uid }) => uid))
  const everything = spokenIn(messages, names, nowMs)
  const told = everything.filter(({ id }) => fresh.has(id))
  const spoken = new Map(told.map((message) => [message.id, message]))
  // A model that continued a harness's own conversation has seen no names.
  const own = new Map(told.map(({ id }, n) => [`m${n + 1}`, id]))
  const known = names.size > 0 ? names : own
  const nameOf = new Map([...known].map(([name, id]) => [id, name]))
  const listed = told.map((message) => ({ name: nameOf.get(message.id) ?? '', by: message.by, text: wholeOf(message) }))
  const log = ground.log === undefined ? undefined : { file: ground.log, text: changes.textOf(ground.log) }
  const logHash = log && changes.hashOf(log.file)
  const added: string[] = []
  const doubted = new Set<string>()
  const shown: string[] = []
  let heard: Voices | undefined

  /** Made with the first change: most runs make none. */
  const voices = (): Voices => {
    if (!heard) {
      heard = voicesOf(everything)
      for (const text of changes.untrustedTexts()) hear(heard.others, text)
    }
    for (const text of shown.splice(0)) hear(heard.others, text)
    return heard
  }

  const citedBy = (draft: Draft): Spoken[] => {
    const ids = new Set(draft.because.evidence.flatMap(({ messageIds }) => messageIds))
    return told.filter(({ id }) => ids.has(id))
  }

  const textIn = ({ content }: Draft): string => (content === null ? '' : evidenceIn(content).text)

  const ruled = (draft: Draft, text: string) => {
    const { file, content } = draft
    const old = changes.textOf(file)
    const before = old === '' ? undefined : memoryOf(old)
    const after = content === null ? null : memoryOf(text)
    return rule({ file, before, after, cited: citedBy(draft), isDoubted: doubted.has(file) }, voices())
  }

  /** Where only the model's "how to apply" is not the person's word, that line is left out and the rest is kept. */
  const keptOf = (draft: Draft) => {
    const text = textIn(draft)
    const ruling = ruled(draft, text)
    const bare = withoutGuess(text, changes.textOf(draft.file))
    if (bare === text || ('trust' in ruling && ruling.trust === 'person')) return { text, ruling }
    const second = ruled(draft, bare)
    return 'trust' in second && second.trust === 'person' ? { text: bare, ruling: second } : { text, ruling }
  }

  const finished = (draft: Draft): Draft => {
    const { file, content } = draft
    const text = changes.textOf(file)
    const about = formsIn(content === null ? text : log ? added.join('\n') : textIn(draft))
    const evidence = draft.because.evidence.map((each) => {
      const message = spoken.get(each.messageIds[0] ?? '')
      return message ? { ...each, excerpt: excerptOf(wholeOf(message), about) } : each
    })
    const because = { ...draft.because, evidence }
    if (log) return { ...draft, because, content: withLines(text, added) }
    return { ...draft, because, content: content === null ? null : contentOf(draft) }
  }

  const contentOf = (draft: Draft): string => {
    const dated = datedText(changes.textOf(draft.file), keptOf(draft).text, citedBy(draft))
    return doubted.has(draft.file) ? markUntrusted(dated) : dated
  }

  const checkLog = async (draft: Draft, { file, text }: { file: string; text: string }) => {
    if (draft.file !== file) return `everything goes into ${file}, as lines`
    const lines = linesAdded({ file, text, added }, draft.content, citedBy(draft), voices())
    if ('refused' in lines) return lines.refused
    const refused = await changes.refuses({ ...draft, content: withLines(text, [...added, ...lines.lines]) })
    if (refused === undefined) added.push(...lines.lines)
    return refused
  }

  const checkTopic = async (draft: Draft) => {
    const { file } = draft
    const { text, ruling } = keptOf(draft)
    const isNew = changes.hashOf(file) === undefined
    const form = draft.content === null ? undefined : formProblem(file, isNew, memoryOf(text))
    if ('refused' in ruling) return ruling.refused
    if (form !== undefined) return form
    if (tooLong(text)) return `a line of ${file} is too long`
    if (ruling.trust === 'untrusted') doubted.add(file)
    const content = draft.content === null ? null : contentOf(draft)
    const days = content === null ? [] : relativeDaysIn(changes.textOf(file), content)
    if (days.length > 0) return `${days.join(', ')}: name the day itself, as in 2026-03-31`
    return changes.refuses({ ...draft, content })
  }

  return {
    turns: TURNS,
    directive: extractionDirective({
      memoryDir: ground.dir,
      news: listed,
      transcript: names.size > 0 ? 'shown' : 'unnamed',
      manifest: changes.manifest,
      team: ground.team,
      log: log && { file: log.file, tail: shownTail(log.text) },
    }),
    shown: log && logHash !== undefined ? [{ file: log.file, hash: logHash }] : [],
    onShown: (text: string) => void shown.push(text),
    cite: (given: readonly string[], content: string | null): { evidence: Evidence[] } | { refused: string } => {
      const cited = given.length > 0 ? given : content === null ? [] : evidenceIn(content).names
      const found = cited.flatMap((name) => spoken.get(known.get(name.trim()) ?? '') ?? [])
      if (found.length > 0) return { evidence: [...new Set(found)].map((message) => evidenceOf(sessionId, message)) }
      const [first, last] = [listed[0]?.name, listed.at(-1)?.name]
      return { refused: `name the new messages that this rests on (${first} to ${last}) as evidence` }
    },
    check: async (draft: Draft): Promise<string | undefined> => {
      // There may be fifty changes at once.
      await turn()
      return log ? checkLog(draft, log) : checkTopic(draft)
    },
    finish: async (drafts: readonly Draft[]): Promise<Draft[]> => {
      const done: Draft[] = []
      for (const draft of drafts) {
        await turn()
        done.push(finished(draft))
      }
      return done
    },
  }
}

/** A message without a time has that of the one before it. */
function spokenIn(messages: readonly SessionMessage[], names: ReadonlyMap<string, string>, nowMs: number): Spoken[] {
  const ids = new Set(names.values())
  let last: { at?: number; minutesEast?: number | undefined } = {}
  return messages.flatMap(({ id, by, text, toolCalls, toolResults, at, minutesEast }) => {
    if (at !== undefined) last = { at, minutesEast }
    if ((by !== 'person' && by !== 'agent' && by !== 'tool') || (ids.size > 0 && !ids.has(id))) return []
    const shown = [...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    return [{ id, by, text, shown, at: last.at ?? nowMs, minutesEast: last.minutesEast }]
  })
}

function wholeOf({ text, shown }: Spoken): string {
  return [text, ...shown].filter((each) => each !== '').join('\n')
}

function evidenceOf(sessionId: string, message: Spoken): Evidence {
  const excerpt = wholeOf(message).slice(0, EXCERPT_UNITS)
  return { sessionId, messageIds: [message.id], excerpt, at: new Date(message.at).toISOString() }
}

/** Harnesses read these as instructions. */
const NOT_OURS = /^(?:claude|agents|gemini|readme|copilot-instructions)(?:\.local)?\.md$/i

function formProblem(file: string, isNew: boolean, { text, type, body, problem }: Memory): string | undefined {
  const names = file.split('/')
  const leaf = names.at(-1) ?? ''
  if (NOT_OURS.test(leaf)) return `${file} is no memory; name it after its type and topic`
  if (isNew && (names.length > 2 || (names.length === 2 && names[0] !== 'team')))
    return `${file}: memories are not put into folders other than team/`
  if (problem !== undefined) return `${file}: ${problem}`
  const head = text.slice(0, text.length - body.length)
  if ([...head.matchAll(/^[ \t]*["']?type["']?[ \t]*:/gim)].length > 1)
    return `${file}: its front matter names a type more than once`
  if (/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/.test(body.trimStart()))
    return `${file} has a second front matter`
  const named = /^(user|feedback|project|reference)[_-]/i.exec(leaf)?.[1]?.toLowerCase()
  if (isNew && named !== undefined && type !== undefined && named !== type)
    return `${file} is named like a ${named} memory and says that it is a ${type} one`
  return undefined
}

const EXCERPT_UNITS = 500
/** Of a longer message the ends: what a person says about a pasted text stands before or after it. */
const LOOKED_UNITS = 64 * 1024
const CAP_PIECES = 400

export function excerptOf(text: string, content: ReadonlySet<string>): string {
  const whole = text.trim()
  if (whole.length <= EXCERPT_UNITS) return whole
  const half = LOOKED_UNITS / 2
  const looked = whole.length <= LOOKED_UNITS ? whole : `${whole.slice(0, half)}\n${whole.slice(-half)}`
  const all = looked.split(/(?<=[.!?。！？])\s+|\n+/).filter((piece) => piece.trim() !== '')
  const pieces = all.length <= CAP_PIECES ? all : [...all.slice(0, CAP_PIECES / 2), ...all.slice(-CAP_PIECES / 2)]
  let best = { piece: whole, shared: 0 }
  for (const piece of pieces) {
    const shared = [...formsIn(piece.slice(0, EXCERPT_UNITS))].filter((word) => content.has(word)).length
    if (shared > best.shared) best = { piece, shared }
  }
  return best.piece.trim().slice(0, EXCERPT_UNITS)
}
