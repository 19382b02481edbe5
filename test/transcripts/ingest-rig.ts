/** Ingestion of real files into a real index.db, without a thread or a process around it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createJobs } from '../../daemon/jobs/jobs.ts'
import { createModels } from '../../daemon/models/models.ts'
import { createProjects } from '../../daemon/projects/projects.ts'
import { createSessions } from '../../daemon/sessions/sessions.ts'
import { createIngest, type Progress } from '../../daemon/transcripts/ingest.ts'
import { createMessageWords } from '../../daemon/transcripts/message-index.ts'
import { createTranscriptReader } from '../../daemon/transcripts/transcript-reader.ts'
import { createTranscripts } from '../../daemon/transcripts/transcript-table.ts'
import { manualTime } from '../support/clock.ts'
import { testCore } from '../support/core.ts'

const SLICE_BYTES = 128_000

type Options = { privatePaths?: string[] } & NonNullable<Parameters<typeof testCore>[0]>

export async function ingestRig({ privatePaths = [], ...options }: Options = {}) {
  const { core, home } = await testCore({ time: manualTime(Date.now()), ...options })
  const root = join(home.dir, 'root')
  mkdirSync(root)
  const db = core.db.index()
  const index = createMessageWords(db)
  const words = new Map<number, string>()
  const open = () =>
    createIngest(
      core.clock,
      createTranscripts(db, {
        ...index,
        put: (texts, ready) => {
          for (const { id, text } of texts) {
            words.delete(id)
            if (text !== '') words.set(id, text)
          }
          index.put(texts, ready)
        },
      }),
      { backlogDays: 14, privatePaths: () => privatePaths },
    )
  const projects = createProjects(core)
  const reader = core.lifecycle.add(
    'transcripts',
    createTranscriptReader(core, projects, createJobs(core, createModels(core))),
  )
  let ingest = open()
  const again: string[] = []
  const next = async (harness: string, name: string): Promise<Progress> => {
    const prepared = await ingest.read({ harness, root, path: join(root, name) }, { capBytes: SLICE_BYTES })
    for (const { path } of [...(prepared.again ?? []), ...ingest.ready([prepared])()])
      again.push(path.slice(root.length + 1))
    return prepared.progress
  }
  const write = (name: string, lines: readonly string[]) => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), lines.map((line) => `${line}\n`).join(''))
  }
  return {
    ...{ core, home, projects, root },
    exec: (sql: string) => void db.exec(sql),
    /** Values of the first column. */
    column: (sql: string) => db.prepare(sql).pluck().all(),
    words,
    /** Names of the files that were said to have to be read again since the last time. */
    again: () => again.splice(0),
    write,
    append: (name: string, lines: readonly string[]) =>
      writeFileSync(join(root, name), readFileSync(join(root, name)) + lines.map((line) => `${line}\n`).join('')),
    /** As another process would go on. */
    restart: () => {
      ingest = open()
    },
    /** Slices until all is read; the last answer. */
    read: async (harness: string, name: string): Promise<Progress> => {
      for (;;) {
        const progress = await next(harness, name)
        if (progress.state !== 'more') return progress
      }
    },
    slice: next,
    sessions: createSessions(core, projects, reader),
    sessionRows: () => db.prepare('SELECT harness, session, fork_of, cwd, project FROM sessions ORDER BY id').all(),
    messages: () =>
      db
        .prepare(
          `SELECT s.session, m.uid, m.said_by AS by, m.copied, m.rewound, m.gone FROM messages m JOIN sessions s ON s.id = m.session ORDER BY m.id`,
        )
        .all() as { session: string; uid: string; by: string; copied: 0 | 1; rewound: 0 | 1; gone: 0 | 1 }[],
    /** Which messages stand where, those that a rewritten file lost left out. */
    standing: () =>
      db
        .prepare(
          `SELECT m.uid || ' ' || substr(f.path, ?) FROM messages m JOIN files f ON f.id = m.file WHERE m.gone = 0 AND f.gone = 0 ORDER BY m.id`,
        )
        .pluck()
        .all(root.length + 2),
    /** What the file holds where each message is said to stand. */
    places: () =>
      (
        db
          .prepare('SELECT f.path, m.offset, m.length FROM messages m JOIN files f ON f.id = m.file ORDER BY m.id')
          .all() as { path: string; offset: number; length: number }[]
      ).map(({ path, offset, length }) =>
        readFileSync(path)
          .subarray(offset, offset + length)
          .toString(),
      ),
  }
}
