/** What a run of a model is about: the memories, the part of a session, and what of it the model was told. */
import type { Evidence } from '../../memory/journal.ts'
import type { SaidMessage } from '../../sessions/message-table.ts'
import type { Memory } from './units.ts'
import type { Spoken } from './voices.ts'

/** A message as it is told, with everything in it. */
export type Told = {
  id: string
  by: string
  text: string
  toolCalls: readonly { input: string }[]
  toolResults: readonly { text: string }[]
  at?: number
  minutesEast?: number
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
  /** `problem`: why its front matter could not be read as it is. */
  memoryOf(content: string): Memory & { problem: string | undefined }
  markUntrusted(content: string): string
  evidenceIn(content: string): { names: string[]; text: string }
  /** What is kept as nobody's word: words in it are not the person's. */
  untrustedTexts(): string[]
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
  nowMs: number
}

/** What the model was told, in order; who says nothing of the time speaks when the last one spoke. */
export function spokenIn(messages: readonly Told[], names: ReadonlyMap<string, string>, nowMs: number): Spoken[] {
  const ids = new Set(names.values())
  let last: { at?: number; minutesEast?: number | undefined } = {}
  return messages.flatMap(({ id, by, text, toolCalls, toolResults, at, minutesEast }) => {
    if (at !== undefined) last = { at, minutesEast }
    if ((by !== 'person' && by !== 'agent' && by !== 'tool') || (ids.size > 0 && !ids.has(id))) return []
    const shown = [...toolCalls.map(({ input }) => input), ...toolResults.map((result) => result.text)]
    return [{ id, by, text, shown, at: last.at ?? nowMs, minutesEast: last.minutesEast }]
  })
}

export function wholeOf({ text, shown }: Spoken): string {
  return [text, ...shown].filter((each) => each !== '').join('\n')
}

export function evidenceOf(sessionId: string, message: Spoken): Evidence {
  const excerpt = wholeOf(message).slice(0, 500)
  return { sessionId, messageIds: [message.id], excerpt, at: new Date(message.at).toISOString() }
}
