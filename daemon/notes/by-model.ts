/** One update of notes by a model: a fork over what the session's jobs share, which may edit that file and nothing else. */
import { MemoryError } from '../../schema/errors.ts'
import type { Told } from '../agent/agent.ts'
import { type ForkReport, type NotDone, type Task, whyNotDone } from '../agent/agent-run.ts'
import type { Reach } from '../agent/permissions.ts'
import type { SaidMessage } from '../sessions/message-table.ts'
import { notesDirective } from './directive.ts'
import { hashOf, NOTES_FILE } from './files.ts'
import type { NotesKey } from './notes-table.ts'
import type { Template } from './template.ts'

export type Asking = {
  /** What the jobs of a session share, up to a message. */
  tell: (telling: {
    key: NotesKey
    row: number
    upTo: number
    lastAt: number
    model: string
    signal: AbortSignal
  }) => Promise<Told>
  run: (task: Task) => Promise<ForkReport>
  reachOf: (folder: string, readable: readonly string[]) => Reach
  model: () => string
}

const LIMITS = { turns: 5, outputTokens: 32_000, wallMs: 120_000 }
const MAX_TOKENS = 16_000

type Update = {
  key: NotesKey
  told: Told
  part: readonly SaidMessage[]
  /** Whether they cover anything that was said before. */
  hasEarlier: boolean
  project: string
  folder: string
  template: Template
  prompt: string | undefined
  /** As they are in the file. */
  notes: string
  /** Keeps what came of it; lost where somebody else has written into them meanwhile. */
  keep: (text: string) => Promise<'kept' | 'lost'>
  stillOurs: () => boolean
  signal: AbortSignal
}

export type Updated = { done: 'changed' | 'unchanged' } | NotDone

export async function updateByModel({ run, reachOf }: Asking, update: Update): Promise<Updated> {
  const { key, told, part, hasEarlier, project, folder, template, prompt, notes, keep, stillOurs, signal } = update
  const news = new Set(part.map(({ uid }) => uid))
  const firstNew = hasEarlier ? [...told.names].find(([, id]) => news.has(id))?.[0] : undefined
  const report = await run({
    job: 'notes',
    project,
    prefix: told.prefix,
    directive: notesDirective({ template, notes, file: NOTES_FILE, sessionId: key.session, firstNew, prompt }),
    policy: { may: 'notes', file: NOTES_FILE },
    reach: reachOf(folder, []),
    limits: LIMITS,
    maxTokens: MAX_TOKENS,
    atTurnLimit: 'fail',
    until: 'changed',
    shown: [{ file: NOTES_FILE, hash: hashOf(notes) }],
    // Whatever it does to the structure is put right afterwards.
    check: async () => undefined,
    cite: () => ({ evidence: [] }),
    apply: async (drafts) => {
      const draft = drafts.find(({ file }) => file === NOTES_FILE)
      if ((await keep(draft?.content ?? '')) === 'lost')
        throw new MemoryError('CONFLICT', 'the notes were changed by somebody else')
    },
    stillOurs,
    signal,
  })
  return whyNotDone(report) ?? { done: report.files.length > 0 ? 'changed' : 'unchanged' }
}

/** What the model is not told of a part: it was said before the anchor, or in the session this one was forked from. */
export function untoldOf({ prefix, names }: Told, part: readonly SaidMessage[]): readonly SaidMessage[] {
  if (prefix.kind === 'harness') return []
  const told = new Set(names.values())
  const first = part.findIndex(({ uid }) => told.has(uid))
  const before = first < 0 ? part : part.slice(0, first)
  return before.some(({ by }) => by === 'person' || by === 'agent' || by === 'tool') ? before : []
}
