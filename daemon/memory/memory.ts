/** Everything about memories, put together: one gate, and what stands before and behind it. */
import type { Clock } from '../platform/clock.ts'
import { createDirectories } from '../store/directories.ts'
import { createJournal } from '../store/journal.ts'
import type { Keeper } from '../store/purge.ts'
import { createPurges } from '../store/purges.ts'
import { createReviews } from '../store/reviews.ts'
import type { Store } from '../store/store.ts'
import { createTombstones } from '../store/tombstones.ts'
import { createExternal } from './external.ts'
import { createGate } from './gate.ts'
import { createHistory } from './history.ts'
import { createJudge, type Redact } from './judge.ts'
import { createPlaces } from './place.ts'
import { createPurging } from './purging.ts'
import { createReading } from './reading.ts'
import { recoverChanges } from './recover.ts'
import { createReviewing } from './reviewing.ts'
import { createUndo } from './undo.ts'
import { createWriting } from './writing.ts'

type Deps = {
  store: Store
  /** Whoever else keeps memories: each takes out what it has of one that is purged. */
  keepers: readonly Keeper[]
  clock: Clock
  redact: Redact
  locate: Parameters<typeof createPlaces>[0]['locate']
  pausedBecause: (root: string) => string | undefined
  /** Whether a directory still is one where memories may be. */
  isPlace: (dir: string) => boolean
  settings: { reviewRequired: () => boolean; teamEnabled: () => boolean }
  /** Somebody changed memories of a directory. */
  onChange: (dir: string, files: string[], actor: string) => void
  onError: (error: unknown) => void
}

export function createMemory(deps: Deps) {
  const { store, keepers, clock, redact, locate, pausedBecause, isPlace, settings, onChange, onError } = deps
  const db = store.history
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
    onChange: (dir, files) => onChange(dir, files, 'external'),
  })
  const look = (dir: string) => external.look(dir).catch(onError)
  const places = createPlaces({ locate, pausedBecause, directories, onNewDirectory: (dir) => void look(dir) })
  const purging = createPurging({ store, keepers, purges: createPurges(db), gate, journal, tombstones, clock })
  return {
    recovery,
    finishPurges: purging.finish,
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
      purging,
      redact,
      clock,
      reviewRequired: settings.reviewRequired,
    }),
    history: createHistory({ journal, places, tombstones, reviews }),
    undo: createUndo({ gate, journal, reviewRequired: settings.reviewRequired }),
    reviewing: createReviewing({ reviews, gate, tombstones, clock }),
  }
}
