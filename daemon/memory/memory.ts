/** Memories: where they are written, read, found and followed. Recovers first, then serves. */
import type { Core } from '../core.ts'
import type { Watch } from '../platform/path-wait.ts'
import type { ProjectFinder, Projects } from '../projects/projects.ts'
import { createAgentMemories } from './agent-memory.ts'
import { createCatalogue } from './catalogue.ts'
import { createChangeRuns } from './change-run.ts'
import { createConsolidate } from './consolidate.ts'
import { createExport } from './export.ts'
import { createExternal } from './external-edits.ts'
import { createHistory } from './history.ts'
import { createImport } from './import.ts'
import { createJournal } from './journal.ts'
import { createMoving, settleMoves } from './move.ts'
import { createPrompting, createPrompts } from './prompt.ts'
import { createReading } from './reader.ts'
import { recoverChanges } from './recovery.ts'
import { createRemember } from './remember.ts'
import { createReviewing, createReviews } from './review.ts'
import { createSave } from './save.ts'
import { createMemoryWords, createSearching } from './search-index.ts'
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
  /** The disk kept us from writing something that can do without. */
  onDiskTrouble: (error: unknown) => void
}

export function createMemory(core: Core, projects: Projects, deps: Deps) {
  const { clock, db: store, health } = core
  const { watch, onChange, onError } = deps
  const { directories, isMemoryDir: isPlace } = projects
  const teamEnabled = () => core.settings.current().team.enabled
  const db = store.history
  const names = createCredentialNames()
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const checks = createWriteChecks(core, directories, journal, tombstones)
  const known = () => [...new Set(directories.list().map(({ dir }) => dir))]
  const settledMoves = settleMoves(db, clock, journal, projects)
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
  const catalogue = createCatalogue({ clock, db: store, logged: () => onError }, journal, names)
  const searching = createSearching({ journal, words: createMemoryWords(store.index), clock, onError })
  const changed = (dir: string, files: string[], actor: string) => {
    catalogue.changed(dir, files)
    searching.changed(dir, files)
    onChange(dir, files, actor)
  }
  const watching = createWatching({ known, look: external.look, isPlace, clock, health, onError, watch })
  projects.onUse(watching.used)
  const look = (dir: string) => external.look(dir).catch(onError)
  const readingIn = (where: ProjectFinder) =>
    createReading({ places: where, journal, catalogue, searching, names, teamEnabled })
  const writingIn = (where: ProjectFinder) => createRemember(core, where, writer, reviews, tombstones, catalogue)
  return {
    recovery,
    /** What was done about moves that a kill had interrupted. */
    settledMoves,
    exporting: createExport(core, projects, journal, tombstones, look),
    importing: createImport(core, projects, writer, journal, tombstones),
    moving: createMoving({ ...deps, db, clock, projects, journal, writer, look }),
    watching,
    /** Brings the journal up to what others did in a directory. */
    look,
    lookEverywhere: watching.lookEverywhere,
    find: projects.find,
    projects: projects.list,
    searching,
    catalogue,
    /** What recall asks besides. */
    texts: {
      known: searching.known,
      rejections: tombstones.stamp,
      /** Whether a person has rejected something that it says. */
      isRejected: (dir: string, file: string, text: string) =>
        tombstones.find(directories.ofSameProject(dir), spokenValues(file, text)) !== undefined,
    },
    stop: () => {
      searching.stop()
      catalogue.stop()
    },
    reading: readingIn(projects),
    prompting: createPrompting({
      places: projects,
      prompts: createPrompts(db),
      clock,
      teamEnabled,
      guidelines: (caller) => projects.variables(caller).CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES,
      onDiskTrouble: deps.onDiskTrouble,
    }),
    journal,
    tombstones,
    writer,
    writing: writingIn(projects),
    saving: createSave(core, projects, writer, reviews, catalogue),
    changing: createChangeRuns(core, projects, writer, catalogue, reviews),
    consolidating: createConsolidate(core, writer, journal, reviews),
    agents: createAgentMemories({ projects, readingIn, writingIn }),
    history: createHistory({ journal, places: projects, tombstones, reviews }),
    undo: createUndo(core, writer, journal),
    reviewing: createReviewing(core, reviews, writer, tombstones),
  }
}

export type Memory = ReturnType<typeof createMemory>
