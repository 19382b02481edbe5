/** Notes as others use them: within their caps, with what they cover and whether they are being written. */
import type { SessionNotes } from '../../schema/session.ts'
import { tokensIn } from '../platform/tokens.ts'
import { cappedNotes } from './caps.ts'
import type { NotesFiles } from './files.ts'
import type { NotesKey } from './notes-table.ts'
import { blankNotes, type Template } from './template.ts'

type Deps = {
  files: Pick<NotesFiles, 'read'>
  template: () => Template
  runningSince: (key: NotesKey) => number | undefined
}

/** `content` is empty where nothing is noted yet. Times in ms. */
export type Notes = {
  content: string
  tokens: number
  lastMessageId: string | undefined
  updatedMs: number | undefined
  source: 'model' | 'rules' | undefined
  runningSinceMs: number | undefined
}

export function createNotesAnswers({ files, template, runningSince }: Deps) {
  const notesFor = (key: NotesKey): Notes => {
    const kept = files.read(key)
    const sections = template()
    const text = kept?.covers && kept.text.trim() !== '' ? cappedNotes(sections, kept.text) : ''
    const content = text === blankNotes(sections) ? '' : text
    return {
      content,
      tokens: tokensIn(content),
      lastMessageId: kept?.covers?.message,
      updatedMs: kept?.covers?.at,
      source: kept?.covers?.source,
      runningSinceMs: runningSince(key),
    }
  }
  return {
    notesFor,
    /** For whoever needs only the words. */
    textOf: (key: NotesKey): string => notesFor(key).content,
    answer: (key: NotesKey): SessionNotes => {
      const { content, tokens, lastMessageId, updatedMs, source, runningSinceMs } = notesFor(key)
      return {
        content,
        tokens,
        ...(lastMessageId !== undefined && { lastMessageId }),
        ...(updatedMs !== undefined && { updatedAt: new Date(updatedMs).toISOString() }),
        ...(source && { source }),
        ...(runningSinceMs !== undefined && { updatingSince: new Date(runningSinceMs).toISOString() }),
      }
    },
  }
}
