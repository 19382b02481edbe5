/** Notices what others changed in a memory directory (an editor, a harness) and journals it. Never fights it. */
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Clock } from '../platform/clock.ts'
import type { Journal, NewChange } from '../store/journal.ts'
import { inFolder, type Present, readPresent } from './folder.ts'
import type { Gate } from './gate.ts'
import type { Redact } from './judge.ts'
import { isExact } from './plain-file.ts'

type Deps = {
  gate: Gate
  journal: Journal
  clock: Clock
  redact: Redact
  onChange: (dir: string, files: string[]) => void
}

const MOST_FILES = 5_000

export type External = {
  /** Compares a directory with the journal; returns the files that somebody else changed. */
  look(dir: string): Promise<string[]>
}

export function createExternal({ gate, journal, clock, redact, onChange }: Deps): External {
  const look = (dir: string) =>
    gate.alone(dir, async () => {
      if (!existsSync(dir)) return []
      const names = new Set([...markdownFiles(dir), ...journal.files(dir)])
      const seen = inFolder(dir, (folder) => [...names].map((file) => [file, lookAt(folder, file)] as const))
      const changes: NewChange[] = []
      for (const [file, present] of seen) {
        if (present === 'unreadable') continue
        const change = await difference(dir, file, present)
        if (change) changes.push(change)
      }
      if (changes.length === 0) return []
      gate.record(changes)
      const files = changes.map(({ file }) => file)
      onChange(dir, files)
      return files
    })

  const difference = async (dir: string, file: string, now: Present | undefined): Promise<NewChange | undefined> => {
    const before = journal.latest(dir, file)?.after
    if (before?.hash === now?.hash) return undefined
    const after = now && { hash: now.hash, text: (await redact(now.text)).text }
    return {
      at: clock.now(),
      dir,
      file,
      op: !now ? 'delete' : before ? 'update' : 'create',
      actor: 'external',
      reason: before ? 'changed outside memoryd' : 'found',
      runId: undefined,
      before,
      after,
      undoable: before !== undefined && isExact(before),
      evidence: [],
    }
  }
  return { look }
}

function markdownFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md') && !entry.name.startsWith('.'))
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith('logs/'))
    .slice(0, MOST_FILES)
}

/** A file that cannot be read safely is none of ours, and not gone either. */
function lookAt(folder: Parameters<typeof readPresent>[0], file: string): Present | undefined | 'unreadable' {
  try {
    return readPresent(folder, file)
  } catch {
    return 'unreadable'
  }
}
