/** Everything about memories, put together: one gate, and what stands before and behind it. */
import { existsSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../schema/caller.ts'
import type { Agent } from '../../schema/memory.ts'
import type { Databases } from '../db/databases.ts'
import { createPurges, type Keeper } from '../db/purge.ts'
import type { Clock } from '../platform/clock.ts'
import type { Health } from '../platform/health.ts'
import type { Watch } from '../platform/path-wait.ts'
import { createDirectories, projectsOf } from '../projects/projects.ts'
import { createAgentMemories } from './agent-memory.ts'
import { type Carrying, createCarrying } from './carrying.ts'
import { createCatalogue, textsWithout } from './catalogue.ts'
import { createChanging } from './change-run.ts'
import { createConsolidating } from './consolidate.ts'
import { createExternal } from './external-edits.ts'
import { createFollowing } from './following.ts'
import { createHistory } from './history.ts'
import { createJournal } from './journal.ts'
import { createMoves, type PlaceOf, settleRenames } from './move.ts'
import { createPast } from './past.ts'
import { createPlaces, type Places } from './place.ts'
import { createPrompting, createPrompts } from './prompt.ts'
import { createPurging } from './purging.ts'
import { createReading } from './reader.ts'
import { recoverChanges } from './recovery.ts'
import { createWriting } from './remember.ts'
import { createReviewing, createReviews } from './review.ts'
import { createApplying, createSaving } from './save.ts'
import { createMemoryWords, createSearching } from './search-index.ts'
import { createTombstones } from './tombstones.ts'
import { createUndo } from './undo.ts'
import { createWatching } from './watching.ts'
import { createJudge, createTellingNames, type Redact, redactShortOnce, spokenValues } from './write-checks.ts'
import { createGate } from './writer.ts'

type Deps = {
  store: Databases
  /** Whoever else keeps memories: each takes out what it has of one that is purged. */
  keepers: readonly Keeper[]
  stateDir: string
  clock: Clock
  redact: Redact
  locate: Parameters<typeof createPlaces>[0]['locate']
  placeOf: PlaceOf
  offBecause: Parameters<typeof createPlaces>[0]['offBecause']
  agentDir: (root: string, env: Caller['env'], agent: Agent) => string
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  settings: { reviewRequired: () => boolean; teamEnabled: () => boolean; logsEnabled: () => boolean }
  /** What a person wants to be added to the prompt about memory. */
  guidelines: (caller: Caller) => string | undefined
  health: Pick<Health, 'raise' | 'clear'>
  /** How folders are watched, if not by the system's own means. */
  watch?: Watch
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
  /** The disk kept us from writing something that can do without. */
  onDiskTrouble: (error: unknown) => void
}

export function createMemory(deps: Deps) {
  const { store, clock, locate, offBecause, isPlace, settings } = deps
  const { health, watch, onChange, onError } = deps
  const db = store.history
  const redact = redactShortOnce(deps.redact)
  const names = createTellingNames(redact)
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const directories = createDirectories(db)
  const judge = createJudge({
    tombstones,
    redact,
    teamEnabled: settings.teamEnabled,
    logsEnabled: settings.logsEnabled,
    ofSameProject: directories.ofSameProject,
  })
  const known = () => [...new Set(directories.list().map(({ dir }) => dir))]
  const moves = createMoves(db)
  const follow = () => createFollowing(db, { journal, past: createPast(db, journal), directories, moves })
  const renames = settleRenames(moves, follow, clock.now())
  const recovery = recoverChanges(journal, known(), isPlace)
  const gate = createGate({
    journal,
    judge,
    redact,
    clock,
    isPlace,
    onChange: (dir, files, { actor }) => changed(dir, files, actor),
  })
  const external = createExternal({
    gate,
    journal,
    clock,
    redact,
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
  let made: Carrying | undefined
  const carrying = (): Carrying => {
    made ??= createCarrying({ ...deps, db, journal, tombstones, directories, moves, places, gate, judge, look })
    return made
  }
  const applying = createApplying({ gate, reviews, redact, clock, reviewRequired: settings.reviewRequired })
  const keepers = [searching.wipe, ...deps.keepers]
  const purging = createPurging({ store, keepers, purges: createPurges(db), gate, journal, tombstones, clock, look })
  const readingIn = (where: Places) =>
    createReading({ places: where, journal, catalogue, searching, names, teamEnabled: settings.teamEnabled })
  const writingIn = (where: Places) =>
    createWriting({
      places: where,
      gate,
      reviews,
      tombstones,
      catalogue,
      purging,
      redact,
      clock,
      reviewRequired: settings.reviewRequired,
    })
  const { reviewRequired } = settings
  const consolidating = createConsolidating({ gate, journal, reviews, redact, clock, reviewRequired })
  return {
    recovery,
    finishPurges: purging.finish,
    /** Brings moves to an end that a kill interrupted, and tells of them. */
    finishMoves: async () => [...renames, ...(moves.list().length > 0 ? await carrying().moving.finish() : [])],
    /** Made when somebody asks for it first. */
    carrying,
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
    /** What recall ranks and gives. */
    texts: {
      ...textsWithout(names.isKnownTelling, clock),
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
      redact,
      clock,
      teamEnabled: settings.teamEnabled,
      guidelines: deps.guidelines,
      onDiskTrouble: deps.onDiskTrouble,
    }),
    writing: writingIn(places),
    saving: createSaving({ places, gate, reviews, catalogue, applying, clock }),
    changing: createChanging({ places, gate, applying, catalogue, reviews, clock }),
    consolidating,
    agents: createAgentMemories({ placesOf, readingIn, writingIn, redact }),
    history: createHistory({ journal, places, tombstones, reviews }),
    undo: createUndo({ gate, journal, clock, reviewRequired: settings.reviewRequired }),
    reviewing: createReviewing({
      reviews,
      gate,
      tombstones,
      clock,
      memoriesIn: (dir) => consolidating.read(dir).memories,
    }),
  }
}

export type Memory = ReturnType<typeof createMemory>
