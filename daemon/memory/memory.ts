/** Everything about memories, put together: one gate, and what stands before and behind it. */
import type { Clock } from '../platform/clock.ts'
import type { Conditions } from '../platform/conditions.ts'
import type { Watch } from '../platform/path-wait.ts'
import type { Db } from '../store/database.ts'
import { createDirectories } from '../store/directories.ts'
import { createJournal } from '../store/journal.ts'
import { createReviews } from '../store/reviews.ts'
import { createTombstones } from '../store/tombstones.ts'
import { createExternal } from './external.ts'
import { createGate } from './gate.ts'
import { createHistory } from './history.ts'
import { createJudge, type Redact } from './judge.ts'
import { createPlaces } from './place.ts'
import { createReading } from './reading.ts'
import { recoverChanges } from './recover.ts'
import { createReviewing } from './reviewing.ts'
import { createUndo } from './undo.ts'
import { createWatching } from './watching.ts'
import { createWriting } from './writing.ts'

type Deps = {
  db: Db
  clock: Clock
  redact: Redact
  locate: Parameters<typeof createPlaces>[0]['locate']
  pausedBecause: (root: string) => string | undefined
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  settings: { reviewRequired: () => boolean; teamEnabled: () => boolean }
  conditions: Pick<Conditions, 'raise' | 'clear'>
  /** How folders are watched, if not by the system's own means. */
  watch?: Watch
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
}

export function createMemory(deps: Deps) {
  const { db, clock, redact, locate, pausedBecause, isPlace, settings, conditions, watch, onChange, onError } = deps
  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const directories = createDirectories(db)
  const judge = createJudge({ tombstones, redact, teamEnabled: settings.teamEnabled })
  const known = () => directories.list().map(({ dir }) => dir)
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
    isPlace,
    onChange: (dir, files) => onChange(dir, files, 'external'),
  })
  const watching = createWatching({ known, look: external.look, isPlace, clock, conditions, onError, watch })
  const places = createPlaces({ locate, pausedBecause, directories, onUse: watching.used })
  return {
    recovery,
    watching,
    lookEverywhere: watching.lookEverywhere,
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
