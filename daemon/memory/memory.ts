/** Everything about memories, put together: one gate, and what stands before and behind it. */
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../store/database.ts'
import { createDirectories } from '../store/directories.ts'
import { createFollowing } from '../store/following.ts'
import { createJournal } from '../store/journal.ts'
import { createMoves } from '../store/moves.ts'
import { createPast } from '../store/past.ts'
import { createReviews } from '../store/reviews.ts'
import { createTombstones } from '../store/tombstones.ts'
import { type Carrying, createCarrying } from './carrying.ts'
import { createExternal } from './external.ts'
import { createGate } from './gate.ts'
import { createHistory } from './history.ts'
import { createJudge, type Redact } from './judge.ts'
import type { PlaceOf } from './move-ends.ts'
import { settleRenames } from './moving.ts'
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
  placeOf: PlaceOf
  pausedBecause: (root: string) => string | undefined
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  settings: { reviewRequired: () => boolean; teamEnabled: () => boolean }
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
}

export function createMemory(deps: Deps) {
  const { db, clock, redact, locate, pausedBecause, isPlace, settings, onChange, onError } = deps
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const directories = createDirectories(db)
  const judge = createJudge({ tombstones, redact, teamEnabled: settings.teamEnabled })
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
  let made: Carrying | undefined
  const carrying = (): Carrying => {
    made ??= createCarrying({ ...deps, journal, tombstones, directories, moves, places, gate, judge, look })
    return made
  }
  return {
    recovery,
    /** Brings moves to an end that a kill interrupted, and tells of them. */
    finishMoves: async () => [...renames, ...(moves.list().length > 0 ? await carrying().moving.finish() : [])],
    /** Made when somebody asks for it first. */
    carrying,
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
    reviewing: createReviewing({ reviews, gate, tombstones, clock }),
  }
}
