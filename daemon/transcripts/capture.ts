/** Everything about transcripts, put together: they are watched, read, imported and pushed, listed and searched. */
import { join } from 'node:path'
import type { Layout } from '../db/database.ts'
import type { Databases } from '../db/databases.ts'
import type { JobKind } from '../jobs/job.ts'
import type { Clock } from '../platform/clock.ts'
import type { Events } from '../platform/events.ts'
import { message } from '../platform/files.ts'
import type { Health } from '../platform/health.ts'
import type { Log } from '../platform/log.ts'
import { threadFile } from '../platform/process.ts'
import { privateFolder } from '../projects/paths.ts'
import type { Projects } from '../projects/projects.ts'
import { mayTouchMark } from '../secrets/kinds.ts'
import { redactSoon } from '../secrets/redact.ts'
import { createSearch } from '../sessions/search.ts'
import { createSessionAnswers } from '../sessions/session-answers.ts'
import { createSessions } from '../sessions/sessions.ts'
import type { LiveSettings } from '../settings/live-settings.ts'
import { textAt } from './digest.ts'
import type { EndedTurn } from './due.ts'
import { createAnywhere, createImporting, createImports, type Folder, importFolder } from './import-folder.ts'
import { createMessageWords } from './message-index.ts'
import { createPushing } from './pushed.ts'
import { createReading } from './reading.ts'
import { createTail } from './tail.ts'
import { createThread } from './thread.ts'
import { createTranscriptFiles } from './transcript-table.ts'
import { createWatchedRoots } from './watched-roots.ts'

type Deps = {
  store: Databases
  layout: Layout
  stateDir: string
  settings: LiveSettings
  clock: Clock
  health: Health
  events: Events
  log: Log
  redact: (text: string) => Promise<{ text: string; kinds: string[] }>
  projects: Projects
  blamesDisk: (error: unknown) => boolean
  /** A turn has ended: what that makes due may be done. */
  onTurn: (turn: EndedTurn) => void
  jobsOf: Parameters<typeof createPushing>[0]['jobsOf']
  handOver: Parameters<typeof createPushing>[0]['handOver']
}

export function createCapture(deps: Deps) {
  const { store, layout, stateDir, settings, clock, health, events, log, redact, projects } = deps
  const roots = () =>
    Object.entries(settings.current().roots).flatMap(([harness, paths]) => paths.map((path) => ({ harness, path })))
  const privateAmong = (folders: string[]) => privateFolder(settings.current().private, folders)
  const anywhere = createAnywhere({ roots, stateDir, isPrivate: (folder) => privateAmong([folder]) !== undefined })
  const imports = createImports(store.history)
  const files = createTranscriptFiles(store.index)
  const own = { harness: 'generic', path: join(stateDir, 'sessions') }
  const reading = createReading({
    roots,
    own,
    imported: imports.list,
    anywhere,
    sweepMs: () => settings.current().sweepSeconds * 1_000,
    files,
    clock,
    thread: (hear) =>
      createThread({
        program: threadFile('./reader-worker.ts', import.meta.url),
        data: {
          indexFile: layout.index,
          // Read whenever a thread begins.
          get backlogDays() {
            return settings.current().extraction.backlogDays
          },
        },
        clock,
        privatePaths: () => settings.current().private,
        ...hear,
      }),
    watched: (onHint) => createWatchedRoots({ clock, health, onHint }),
    onTurn: (turn) => {
      events.publish({ type: 'turn', ...turn })
      deps.onTurn(turn)
    },
    onError: (error) => {
      if (deps.blamesDisk(error)) return
      health.failed('transcripts', message(error))
      log.error({ err: error }, 'a transcript could not be read')
    },
  })
  const importing = createImporting({
    anywhere,
    reading,
    imports,
    folderOf: (dir) =>
      importFolder(dir, {
        stateDir,
        redact,
        privateBecause: (folder) => {
          const secret = privateAmong([folder])
          return secret === undefined ? undefined : `${secret} is private`
        },
      }),
    clock,
  })
  const importKind: JobKind = {
    name: 'import',
    model: false,
    resumes: true,
    run: ({ input }, at) => importing.run(input as Folder, at),
    killed: ({ input }) => importing.giveUp(input as Folder),
  }
  return {
    reading,
    importing,
    importKind,
    pushing: createPushing({
      root: own,
      tail: createTail({ clock }),
      anywhere,
      redact,
      linesOf: reading.thread.lines,
      onNews: reading.changed,
      jobsOf: deps.jobsOf,
      handOver: deps.handOver,
      projectOf: projects.find,
      clock,
    }),
    /** Where what is pushed is kept, beside the notes. */
    sessionsDir: own.path,
    sessions: createSessionAnswers({
      sessions: createSessions(store.index),
      turnsOf: reading.thread.turns,
      projectOf: projects.rootOf,
      isPrivate: projects.isPrivate,
    }),
    search: createSearch({
      words: createMessageWords(store.index),
      textAt,
      redact: redactSoon,
      mayTouchMark,
      projectOf: async (cwd, caller) => projects.find(cwd, caller),
      clock,
    }),
    ingest: () => ({ lagBytes: reading.lagBytes(), skipped: files.skipped() }),
  }
}

export type Capture = ReturnType<typeof createCapture>
