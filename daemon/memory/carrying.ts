/** Whole memory sets on their way, put together: export, import, move. Nothing of it is needed for a start. */
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import type { Directories } from '../projects/projects.ts'
import { createExport, type Exporting } from './export.ts'
import { createExportSource } from './export-source.ts'
import { createFollowing } from './following.ts'
import { createImport, type Importing } from './import.ts'
import type { Journal } from './journal.ts'
import { createMerging } from './merging.ts'
import { createFindEnds, createMoving, endsWithin, type Moves, type Moving, type PlaceOf } from './move.ts'
import { createPast } from './past.ts'
import type { Places } from './place.ts'
import type { Tombstones } from './tombstones.ts'
import type { WriteChecks } from './write-checks.ts'
import type { Writer } from './writer.ts'

type Deps = {
  db: Db
  journal: Journal
  tombstones: Tombstones
  directories: Directories
  moves: Moves
  places: Places
  placeOf: PlaceOf
  isPlace: (dir: string) => boolean
  writer: Writer
  checks: WriteChecks
  clock: Clock
  stateDir: string
  look: (dir: string) => Promise<unknown>
  onChange: (dir: string, files: string[], actor: string) => void
}

export type Carrying = { exporting: Exporting; importing: Importing; moving: Moving }

export function createCarrying(deps: Deps): Carrying {
  const { db, journal, directories, moves, places, writer, clock, look } = deps
  const past = createPast(db, journal)
  return {
    exporting: createExport({ places, source: createExportSource(db), clock, look }),
    importing: createImport({ ...deps, past }),
    moving: createMoving({
      findEnds: createFindEnds(deps),
      endsWithin: (ends) => endsWithin(directories, ends),
      merging: createMerging({ writer, past }),
      writer,
      moves,
      following: createFollowing(db, { journal, past, directories, moves }),
      clock,
      look,
      onChange: deps.onChange,
    }),
  }
}
