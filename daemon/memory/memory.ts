/** Memories: where they are written, read, found and followed. Recovers first, then serves. */
import type { Agent } from '../../schema/memory.ts'
import type { Core } from '../core.ts'
import type { ProjectFinder, Projects } from '../projects/projects.ts'
import { PATTERNS } from '../secrets/redact.ts'
import { createCatalogue } from './catalogue.ts'
import { createChangeRuns } from './change-run.ts'
import { createConsolidation } from './consolidate.ts'
import { createExport } from './export.ts'
import { createExternalEdits } from './external-edits.ts'
import { createHistory } from './history.ts'
import { createImport } from './import.ts'
import { createJournal } from './journal.ts'
import { createMoves, settleMoves } from './move.ts'
import { createPrompts } from './prompt.ts'
import { createReader } from './reader.ts'
import { recoverChanges } from './recovery.ts'
import { createRemember } from './remember.ts'
import { createReview, createReviews } from './review.ts'
import { createSearchIndex } from './search-index.ts'
import { createTombstones, spokenValues } from './tombstones.ts'
import { createUndo } from './undo.ts'
import { createCredentialNames, createWriteChecks } from './write-checks.ts'
import { createWriter, type OnChange } from './writer.ts'

export type Memory = ReturnType<typeof createMemory>

export function createMemory(core: Core, projects: Projects) {
  const { events, repaired, logged } = core
  const { directories } = projects
  const db = core.db.history
  const listeners: OnChange[] = []

  const journal = createJournal(db)
  const tombstones = createTombstones(db)
  const reviews = createReviews(db)
  const names = createCredentialNames()
  const settledMoves = settleMoves(core, projects, journal)
  const recovery = recoverChanges(journal, directories.dirs(), projects.isMemoryDir)
  // Without file names: they may be made of what a memory says, and would stay in the log when it is purged.
  if (recovery.completed.length > 0)
    repaired(`completed changes that a kill had interrupted: ${recovery.completed.length}`)
  for (const problem of recovery.problems) repaired(`interrupted changes could not be completed in ${problem}`)
  for (const move of settledMoves) repaired(move)
  try {
    journal.searchWith(PATTERNS)
  } catch (error) {
    // Until the next start each memory is searched again when it is shown.
    if (!core.disk.blames(error)) throw error
  }

  const checks = createWriteChecks(core, projects, journal, tombstones)
  const writer = createWriter(core, projects, journal, reviews, checks)
  const externalEdits = createExternalEdits(core, projects, writer, journal, names)
  const catalogue = createCatalogue(core, journal, names)
  const searchIndex = createSearchIndex(core, journal)
  const moves = createMoves(core, projects, journal, writer, externalEdits)
  const tellChange: OnChange = (dir, files, actor) => {
    for (const listener of listeners) listener(dir, files, actor)
    events.publish({ type: 'saved', dir, files, actor })
  }
  const changed: OnChange = (dir, files, actor) => {
    catalogue.changed(dir, files)
    searchIndex.changed(dir, files)
    tellChange(dir, files, actor)
  }
  writer.onChange(changed)
  externalEdits.onChange((dir, files) => changed(dir, files, 'external'))
  moves.onMove(tellChange)
  const remember = (where: ProjectFinder) => createRemember(core, where, writer, reviews, tombstones, catalogue)

  return {
    recovery,
    start: (): void => {
      externalEdits.start()
      catalogue.readAhead(directories.dirs()).catch(logged('memories could not be read ahead'))
    },
    stop: async (signal: AbortSignal): Promise<void> => {
      await externalEdits.stop(signal)
      searchIndex.stop()
      catalogue.stop()
    },
    onChange: (listener: OnChange) => void listeners.push(listener),
    /** Brings the journal up to what other programs did in a directory. */
    look: (dir: string) => externalEdits.look(dir).catch(logged('a memory directory could not be looked through')),
    lookEverywhere: externalEdits.lookEverywhere,
    journal,
    tombstones,
    writer,
    catalogue,
    searchIndex,
    /** After a purge: index.db holds no word of any memory, and is filled again. */
    wipeIndex: (): void => {
      searchIndex.wipe()
      catalogue.wiped()
    },
    texts: {
      known: searchIndex.known,
      isSearched: journal.isSearched,
      rejections: tombstones.stamp,
      isRejected: (dir: string, file: string, text: string) =>
        tombstones.find(directories.ofSameProject(dir), spokenValues(file, text)) !== undefined,
    },
    reading: createReader(core, projects, catalogue, journal, searchIndex),
    prompting: createPrompts(core, projects),
    ...remember(projects),
    ofAgent: (agent: Agent) => remember(projects.ofAgent(agent)),
    ...createChangeRuns(core, projects, writer, catalogue, reviews),
    consolidation: createConsolidation(core, writer, journal, reviews),
    history: createHistory(projects, journal, tombstones, reviews),
    undo: createUndo(core, projects, writer, journal),
    review: createReview(core, reviews, writer, tombstones),
    exporting: createExport(core, projects, journal, tombstones, externalEdits),
    importing: createImport(core, projects, writer, journal, tombstones),
    moving: moves,
  }
}
