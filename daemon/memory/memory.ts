/** Memories: where they are written, read, found and followed. Recovers first, then serves. */
import type { Agent } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import type { Watch } from '../platform/path-wait.ts'
import type { ProjectFinder, Projects } from '../projects/projects.ts'
import { createCatalogue } from './catalogue.ts'
import { createChangeRuns } from './change-run.ts'
import { createConsolidate } from './consolidate.ts'
import { createExport } from './export.ts'
import { createExternal } from './external-edits.ts'
import { createHistory } from './history.ts'
import { createImport } from './import.ts'
import { createJournal } from './journal.ts'
import { createMoves, settleMoves } from './move.ts'
import { createPrompts } from './prompt.ts'
import { createReader } from './reader.ts'
import { recoverChanges } from './recovery.ts'
import { createRemember } from './remember.ts'
import { createReviewing, createReviews } from './review.ts'
import { createSave } from './save.ts'
import { createSearchIndex } from './search-index.ts'
import { createTombstones, spokenValues } from './tombstones.ts'
import { createUndo } from './undo.ts'
import { createWatching } from './watching.ts'
import { createCredentialNames, createWriteChecks } from './write-checks.ts'
import { createWriter } from './writer.ts'

type Deps = {
  /** How folders are watched, if not by the system's own means. */
  watch?: Watch
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
}

export function createMemory(core: Core, projects: Projects, deps: Deps) {
  const { clock, db: store, health } = core
  const { watch, onChange, onError } = deps
  const { directories, isMemoryDir: isPlace } = projects
  const db = store.history
  const names = createCredentialNames()
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const checks = createWriteChecks(core, directories, journal, tombstones)
  const known = () => [...new Set(directories.list().map(({ dir }) => dir))]
  const settledMoves = settleMoves(core, projects, journal)
  const recovery = recoverChanges(journal, known(), isPlace)
  const writer = createWriter(core, isPlace, journal, reviews, checks)
  writer.onChange((dir, files, actor) => changed(dir, files, actor))
  const external = createExternal({
    writer,
    journal,
    clock,
    names,
    isPlace,
    onChange: (dir, files) => changed(dir, files, 'external'),
  })
  const catalogue = createCatalogue(core, journal, names)
  const searchIndex = createSearchIndex(core, journal)
  const changed = (dir: string, files: string[], actor: string) => {
    catalogue.changed(dir, files)
    searchIndex.changed(dir, files)
    onChange(dir, files, actor)
  }
  const watching = createWatching({ known, look: external.look, isPlace, clock, health, onError, watch })
  projects.onUse(watching.used)
  const look = (dir: string) => external.look(dir).catch(onError)
  const moves = createMoves(core, projects, journal, writer, external)
  moves.onMove(onChange)
  const writingIn = (where: ProjectFinder) => createRemember(core, where, writer, reviews, tombstones, catalogue)
  return {
    recovery,
    /** What was done about moves that a kill had interrupted. */
    settledMoves,
    exporting: createExport(core, projects, journal, tombstones, external),
    importing: createImport(core, projects, writer, journal, tombstones),
    moving: moves,
    watching,
    /** Brings the journal up to what others did in a directory. */
    look,
    /** Watches, and reads ahead what was used last. */
    start: (): void => {
      watching.start()
      void catalogue.readAhead(known())
    },
    lookEverywhere: watching.lookEverywhere,
    find: projects.find,
    projects: projects.list,
    searchIndex,
    catalogue,
    /** After a purge: index.db holds no word of any memory, and is filled again. */
    wipeIndex: (): void => {
      searchIndex.wipe()
      catalogue.wiped()
    },
    /** What recall asks besides. */
    texts: {
      known: searchIndex.known,
      rejections: tombstones.stamp,
      /** Whether a person has rejected something that it says. */
      isRejected: (dir: string, file: string, text: string) =>
        tombstones.find(directories.ofSameProject(dir), spokenValues(file, text)) !== undefined,
    },
    stop: () => {
      searchIndex.stop()
      catalogue.stop()
    },
    reading: createReader(core, projects, catalogue, journal, searchIndex),
    prompting: createPrompts(core, projects),
    journal,
    tombstones,
    writer,
    writing: writingIn(projects),
    saving: createSave(core, projects, writer, reviews, catalogue),
    changing: createChangeRuns(core, projects, writer, catalogue, reviews),
    consolidating: createConsolidate(core, writer, journal, reviews),
    /** The writes of a type of sub-agent. */
    writingOf: (agent: Agent) => writingIn(projects.ofAgent(agent)),
    history: createHistory(projects, journal, tombstones, reviews),
    undo: createUndo(core, writer, journal),
    reviewing: createReviewing(core, reviews, writer, tombstones),
  }
}

export type Memory = ReturnType<typeof createMemory>
