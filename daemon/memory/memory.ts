/** Everything about memories, put together: one gate, and what stands before and behind it. */
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../store/database.ts'
import { createDirectories } from '../store/directories.ts'
import { createExportSource } from '../store/export-source.ts'
import { createFollowing } from '../store/following.ts'
import { createJournal } from '../store/journal.ts'
import { createMoves } from '../store/moves.ts'
import { createPast } from '../store/past.ts'
import { createReviews } from '../store/reviews.ts'
import { createTombstones } from '../store/tombstones.ts'
import { createExport } from './export.ts'
import { createExternal } from './external.ts'
import { createGate } from './gate.ts'
import { createHistory } from './history.ts'
import { createImport } from './import.ts'
import { createJudge, type Redact } from './judge.ts'
import { createMerging } from './merging.ts'
import { createFindEnds } from './move-ends.ts'
import { createMoving, settleRenames } from './moving.ts'
import { createPlaces } from './place.ts'
import { createReading } from './reading.ts'
import { recoverChanges } from './recover.ts'
import { createReviewing } from './reviewing.ts'
import { createUndo } from './undo.ts'
import { createWriting } from './writing.ts'

type Deps = {
  db: Db
  stateDir: string
  clock: Clock
  redact: Redact
  locate: Parameters<typeof createPlaces>[0]['locate']
  placeOf: Parameters<typeof createFindEnds>[0]['placeOf']
  pausedBecause: (root: string) => string | undefined
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  settings: { reviewRequired: () => boolean; teamEnabled: () => boolean }
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
}

export function createMemory(deps: Deps) {
  const { db, stateDir, clock, redact, locate, placeOf, pausedBecause, isPlace, settings, onChange, onError } = deps
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const directories = createDirectories(db)
  const judge = createJudge({ tombstones, redact, teamEnabled: settings.teamEnabled })
  const past = createPast(db, journal)
  const known = () => [...new Set(directories.list().map(({ dir }) => dir))]
  const moves = createMoves(db)
  const following = createFollowing(db, { journal, past, directories, moves })
  const renames = settleRenames(moves, following, clock.now())
  const recovery = recoverChanges(journal, known(), isPlace)
  const gate = createGate({
    journal,
    judge,
    redact,
    clock,
    onChange: (dir, files, { actor }) => onChange(dir, files, actor),
  })
  const external = createExternal({
    gate,
    journal,
    clock,
    redact,
    onChange: (dir, files) => onChange(dir, files, 'external'),
  })
  const look = (dir: string) => external.look(dir).catch(onError)
  const places = createPlaces({ locate, pausedBecause, directories, onNewDirectory: (dir) => void look(dir) })
  const merging = createMerging({ gate, past, redact })
  const findEnds = createFindEnds({ places, placeOf, directories, journal, isPlace })
  const moving = createMoving({ findEnds, merging, gate, moves, following, clock, look, onChange })
  return {
    recovery,
    /** Brings moves to an end that a kill interrupted, and tells of them. */
    finishMoves: async () => [...renames, ...(await moving.finish())],
    moving,
    /** Notices what others changed while nobody looked. */
    lookEverywhere: async () => {
      for (const dir of known().filter(isPlace)) await look(dir)
    },
    find: places.find,
    reading: createReading({ places, journal }),
    writing: createWriting({
      places,
      gate,
      reviews,
      tombstones,
      redact,
      clock,
      reviewRequired: settings.reviewRequired,
    }),
    history: createHistory({ journal, places, tombstones, reviews }),
    undo: createUndo({ gate, journal, reviewRequired: settings.reviewRequired }),
    exporting: createExport({ places, source: createExportSource(db), clock, look }),
    importing: createImport({ places, gate, judge, journal, past, tombstones, redact, clock, stateDir }),
    reviewing: createReviewing({ reviews, gate, tombstones, clock }),
  }
}
