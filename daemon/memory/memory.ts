/** Memories: where they are written, read, found and followed. Recovers first, then serves. */
import { existsSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../schema/caller.ts'
import type { Agent } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import { createPurges, type Keeper } from '../db/purge.ts'
import type { Watch } from '../platform/path-wait.ts'
import { createDirectories, projectsOf } from '../projects/projects.ts'
import { createAgentMemories } from './agent-memory.ts'
import { createCatalogue } from './catalogue.ts'
import { createChangeRuns } from './change-run.ts'
import { createConsolidate } from './consolidate.ts'
import { createExport } from './export.ts'
import { createExternal } from './external-edits.ts'
import { createHistory } from './history.ts'
import { createImport } from './import.ts'
import { createJournal } from './journal.ts'
import { createMoving, type PlaceOf, settleMoves } from './move.ts'
import { createPlaces, type Places } from './place.ts'
import { createPrompting, createPrompts } from './prompt.ts'
import { createPurging } from './purging.ts'
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
  /** Whoever else keeps memories: each takes out what it has of one that is purged. */
  keepers: readonly Keeper[]
  locate: Parameters<typeof createPlaces>[0]['locate']
  placeOf: PlaceOf
  offBecause: Parameters<typeof createPlaces>[0]['offBecause']
  agentDir: (root: string, env: Caller['env'], agent: Agent) => string
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  /** What a person wants to be added to the prompt about memory. */
  guidelines: (caller: Caller) => string | undefined
  /** How folders are watched, if not by the system's own means. */
  watch?: Watch
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
  /** The disk kept us from writing something that can do without. */
  onDiskTrouble: (error: unknown) => void
}

export function createMemory(core: Core, deps: Deps) {
  const { clock, db: store, health } = core
  const { locate, offBecause, isPlace, watch, onChange, onError } = deps
  const teamEnabled = () => core.settings.current().team.enabled
  const db = store.history
  const names = createCredentialNames()
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const directories = createDirectories(db)
  const checks = createWriteChecks(core, directories, journal, tombstones)
  const known = () => [...new Set(directories.list().map(({ dir }) => dir))]
  const settledMoves = settleMoves(db, clock, journal, directories)
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
  const placesWith = (where: typeof locate) =>
    createPlaces({ locate: where, offBecause, directories, onUse: watching.used })
  const places = placesWith(locate)
  const placesOf = (agent: Agent) =>
    placesWith((cwd, env) => {
      const project = locate(cwd, env)
      const dir = deps.agentDir(project.root, env, agent)
      return { ...project, dir, owner: agent.scope === 'user' ? dir : project.root }
    })
  const look = (dir: string) => external.look(dir).catch(onError)
  const keepers = [searching.wipe, ...deps.keepers]
  const purging = createPurging({ store, keepers, purges: createPurges(db), writer, journal, tombstones, clock, look })
  const readingIn = (where: Places) =>
    createReading({ places: where, journal, catalogue, searching, names, teamEnabled })
  const writingIn = (where: Places) => createRemember(core, where, writer, reviews, tombstones, catalogue, purging)
  return {
    recovery,
    finishPurges: purging.finish,
    /** What was done about moves that a kill had interrupted. */
    settledMoves,
    exporting: createExport(core, places, journal, tombstones, look),
    importing: createImport(core, places, writer, journal, tombstones),
    moving: createMoving({ ...deps, db, clock, places, directories, journal, writer, look }),
    watching,
    lookEverywhere: watching.lookEverywhere,
    find: places.find,
    /** The same once every change on disk has been taken note of. */
    findAgain: async (cwd: string, caller: Caller) => {
      await turn()
      return places.find(cwd, caller)
    },
    projects: () => projectsOf(directories.list(), existsSync),
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
    reading: readingIn(places),
    prompting: createPrompting({
      places,
      prompts: createPrompts(db),
      clock,
      teamEnabled,
      guidelines: deps.guidelines,
      onDiskTrouble: deps.onDiskTrouble,
    }),
    writer,
    writing: writingIn(places),
    saving: createSave(core, places, writer, reviews, catalogue),
    changing: createChangeRuns(core, places, writer, catalogue, reviews),
    consolidating: createConsolidate(core, writer, journal, reviews),
    agents: createAgentMemories({ placesOf, readingIn, writingIn }),
    history: createHistory({ journal, places, tombstones, reviews }),
    undo: createUndo(core, writer, journal),
    reviewing: createReviewing(core, reviews, writer, tombstones),
  }
}

export type Memory = ReturnType<typeof createMemory>
