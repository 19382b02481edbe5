/**
 * What the daemon knows of the memories in each directory: one entry a file, read again only when its stamp has changed, and
 * kept in index.db for the next start. The files are the truth: up to 500 are stat'ed each time, more once a second.
 */
import { basename } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import { type Db, preparedIn, withoutWaiting } from '../db/database.ts'
import type { Timer } from '../platform/clock.ts'
import { createLru } from '../platform/lru.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { INDEX_FILE, numbered } from './file-names.ts'
import { readMemoryFile } from './folder.ts'
import type { Journal } from './journal.ts'
import {
  type FoundMemory,
  findMemories,
  inOpenRoot,
  isMemoryName,
  LIST_MEMORIES,
  lastChangedFirst,
  newestFirst,
  type ReadMemory,
  readMemory,
  type ScannedMemory,
} from './scan.ts'
import { normaliseValue } from './tombstones.ts'
import { withValues } from './topic-file.ts'
import type { CredentialNames } from './write-checks.ts'

/** `value`: hash of what the body says, however it is written; nothing for a file that is not read as a memory. */
export type KnownMemory = ScannedMemory & { value: string | undefined }

export type Directory = { dir: string; memories: ReadonlyMap<string, KnownMemory>; version: number; unread(): number }

const MOST_DIRECTORIES = 16
/** Of more memories the newest are known. About half a kilobyte each. */
const MOST_MEMORIES = 20_000
/** To stat these takes about 3 ms. */
const FEW = 500
const LOOK_MS = 1_000
const SLICE_MS = 10
const SAVE_MS = 1_000
const SAVE_AT_ONCE = 100
const SAVE_FAILED = 'what is known of memories could not be saved'

type Entry = Directory & {
  memories: Map<string, KnownMemory>
  lookedMs: number
  changed: Set<string>
  found: Map<string, FoundMemory>
  unsaved: Set<string>
  reading: Promise<void> | undefined
}

type Listing = { items: KnownMemory[]; older: number }
type ReadListener = (dir: string, memory: KnownMemory, read: ReadMemory) => void

export function createCatalogue({ clock, db, logged }: Core, journal: Journal, names: CredentialNames) {
  const rows = createRows(db.index)
  const entries = createLru<string, Entry>(MOST_DIRECTORIES)
  const listeners: ReadListener[] = []
  let saving: Timer | undefined
  let isStopped = false

  const entryOf = (dir: string): Entry => {
    const known = entries.get(dir)
    if (known) return known
    const entry: Entry = {
      dir,
      memories: new Map(rows.of(dir).map((memory) => [memory.file, memory])),
      version: 0,
      unread: () => entry.changed.size + entry.found.size,
      lookedMs: Number.NEGATIVE_INFINITY,
      changed: new Set(),
      found: new Map(),
      unsaved: new Set(),
      reading: undefined,
    }
    entries.set(dir, entry)
    return entry
  }

  const put = (entry: Entry, file: string, read: ReadMemory | undefined): void => {
    if (!read || names.isKnown(file)) {
      drop(entry, file)
      return
    }
    entry.changed.delete(file)
    entry.found.delete(file)
    const known = entry.memories.get(file)
    const isSame = known?.hash !== undefined && known.hash === read.memory.hash
    const value = isSame ? known.value : read.text === undefined ? undefined : valueKey(read.body)
    const memory = { ...read.memory, value }
    entry.memories.set(file, memory)
    if (known?.stamp !== memory.stamp || !isSame) saveLater(entry, file)
    if (isSame) return
    entry.version++
    for (const listener of listeners) listener(entry.dir, memory, read)
  }
  const drop = (entry: Entry, file: string): void => {
    entry.changed.delete(file)
    entry.found.delete(file)
    if (!entry.memories.delete(file)) return
    entry.version++
    saveLater(entry, file)
  }

  const look = (entry: Entry): void => {
    const files = findMemories(entry.dir).filter(({ file }) => !names.isKnown(file))
    entry.lookedMs = clock.elapsed()
    const present = new Map(files.slice(0, MOST_MEMORIES).map((found) => [found.file, found]))
    for (const file of entry.memories.keys()) if (!present.has(file)) drop(entry, file)
    for (const [file, { stamp }] of present) if (entry.memories.get(file)?.stamp === stamp) present.delete(file)
    entry.found = present
  }
  const isLookDue = ({ lookedMs }: Entry): boolean => clock.elapsed() - lookedMs >= LOOK_MS
  const catchUp = (entry: Entry): void => {
    const isNew = entry.lookedMs === Number.NEGATIVE_INFINITY
    if ((isNew && entry.memories.size === 0) || entry.memories.size + entry.found.size <= FEW) {
      look(entry)
      return
    }
    if (!isLookDue(entry)) return
    // 20,000 take about 60 ms: this answer goes without what is found. The watch tells of most changes before.
    entry.lookedMs = clock.elapsed()
    const lookLater = async () => {
      await turn()
      if (isStopped) return
      look(entry)
      await readBeside(entry)
    }
    void lookLater().catch(logged('a memory directory could not be looked through'))
  }

  const readSome = (entry: Entry, most = Number.POSITIVE_INFINITY): void => {
    if (entry.unread() === 0) return
    const endMs = clock.elapsed() + (most === Number.POSITIVE_INFINITY ? SLICE_MS : Number.POSITIVE_INFINITY)
    let left = most
    const isOpen = inOpenRoot(entry.dir, (top) => {
      for (const files of [entry.changed, entry.found.keys()])
        for (const file of files) {
          put(entry, file, readMemory(top, { file, nowMs: clock.now(), known: entry.memories.get(file) }))
          if (--left === 0 || clock.elapsed() >= endMs) return
        }
    })
    if (!isOpen) for (const file of [...entry.changed, ...entry.found.keys()]) drop(entry, file)
  }
  const readBeside = (entry: Entry): Promise<void> => {
    entry.reading ??= (async () => {
      while (entry.unread() > 0 && !isStopped) {
        await turn()
        readSome(entry)
      }
    })()
      .catch(logged('memories could not be read'))
      .finally(() => {
        entry.reading = undefined
      })
    return entry.reading
  }

  const open = (dir: string): Directory => {
    const entry = entryOf(dir)
    catchUp(entry)
    readSome(entry)
    if (entry.unread() > 0) void readBeside(entry)
    return entry
  }

  const read = (dir: string, file: string): (KnownMemory & { text: string; body: string }) | undefined => {
    const entry = entryOf(dir)
    let found: ReadMemory | undefined
    inOpenRoot(dir, (top) => {
      found = readMemory(top, { file, nowMs: clock.now(), known: entry.memories.get(file) })
    })
    put(entry, file, found)
    const memory = entry.memories.get(file)
    return memory && found?.text !== undefined ? { ...memory, text: found.text, body: found.body } : undefined
  }

  const saveLater = (entry: Entry, file: string): void => {
    entry.unsaved.add(file)
    saving ??= clock.after(SAVE_MS, () => {
      saving = undefined
      void saveAll().catch(logged(SAVE_FAILED))
    })
  }
  const saveAll = async (): Promise<void> => {
    for (const entry of entries.values()) {
      const files = [...entry.unsaved]
      while (files.length > 0 && !isStopped) {
        save(entry, files.splice(0, SAVE_AT_ONCE))
        await turn()
      }
    }
  }
  /** Only what the journal has byte for byte, which was searched for credentials: none comes into index.db. */
  const save = (entry: Entry, files: readonly string[]): void =>
    rows.write(() => {
      for (const file of files) {
        const memory = entry.memories.get(file)
        // Changed just now: it will be read again, and saved then.
        if (memory?.stamp === '') continue
        entry.unsaved.delete(file)
        const tip = memory && journal.tip(entry.dir, file)
        if (memory && tip?.exact && tip.hash === memory.hash) rows.put(entry.dir, memory)
        else rows.remove(entry.dir, file)
      }
    })

  const list = (dir: string, { limit = LIST_MEMORIES } = {}): Listing => {
    const entry = entryOf(dir)
    look(entry)
    readSome(entry, limit + entry.changed.size)
    if (entry.unread() > 0) void readBeside(entry)
    const items = [...entry.memories.values()].sort(newestFirst).slice(0, limit)
    return { items, older: entry.memories.size + entry.found.size - items.length }
  }

  return {
    /** As the directory is now, or, with many memories, was less than a second ago. */
    open,
    list,
    /** Without names that hold a credential, which another program may have given. The journal's were searched. */
    listSafe: async (dir: string): Promise<Listing> => {
      const { items, older } = list(dir)
      const safe: KnownMemory[] = []
      for (const item of items)
        if (journal.tip(dir, item.file) !== undefined || !(await names.has(item.file))) safe.push(item)
      return { items: safe, older }
    },
    read,
    findSame: async (dir: string, text: string): Promise<KnownMemory | undefined> => {
      const entry = entryOf(dir)
      // A statement that another program wrote within the last second may be kept twice: a dream merges the two.
      if (isLookDue(entry)) catchUp(entry)
      readSome(entry)
      if (entry.unread() > 0) await readBeside(entry)
      const value = valueKey(text)
      const [found] = [...entry.memories.values()].filter((memory) => memory.value === value).sort(newestFirst)
      // Among many it may have changed since the last look.
      const now = found && read(dir, found.file)
      return now?.value === value ? now : undefined
    },
    changed: (dir: string, files: readonly string[]): void => {
      const entry = entries.get(dir)
      if (!entry) return
      for (const file of files) {
        if (!isMemoryName(file) || basename(file) === INDEX_FILE) continue
        entry.changed.add(file)
        saveLater(entry, file)
      }
    },
    onRead: (listener: ReadListener) => void listeners.push(listener),
    /** Reads the directories that were changed last before they are asked for. */
    readAhead: async (dirs: readonly string[]): Promise<void> => {
      for (const dir of lastChangedFirst(dirs).slice(0, MOST_DIRECTORIES)) {
        if (isStopped) return
        open(dir)
        await readBeside(entryOf(dir))
        await turn()
      }
    },
    wiped: (): void => {
      for (const entry of entries.values()) for (const file of entry.memories.keys()) saveLater(entry, file)
    },
    stop: (): void => {
      isStopped = true
      saving?.stop()
      try {
        for (const entry of entries.values()) save(entry, [...entry.unsaved])
      } catch (error) {
        logged(SAVE_FAILED)(error)
      }
    },
  }
}

export type Catalogue = ReturnType<typeof createCatalogue>

function valueKey(text: string): string {
  return hashOf(normaliseValue(text))
}

function createRows(current: () => Db) {
  const statements = preparedIn(current, (db) => ({
    of: db.prepare(`SELECT file, stamp, modified_ms AS modifiedMs, bytes, hash, value, name, description, type, trust
      FROM memory_files WHERE dir = ?`),
    put: db.prepare('INSERT OR REPLACE INTO memory_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    remove: db.prepare('DELETE FROM memory_files WHERE dir = ? AND file = ?'),
  }))
  return {
    of: (dir: string) =>
      statements()
        .of.all(dir)
        .map((row) => withValues(row as KnownMemory) as KnownMemory),
    put: (dir: string, memory: KnownMemory): void => {
      const { file, stamp, modifiedMs, bytes, hash, value, name, description, type, trust } = memory
      const fields = [value, name, description, type, trust].map((field) => field ?? null)
      statements().put.run(dir, file, stamp, modifiedMs, bytes, hash, ...fields)
    },
    remove: (dir: string, file: string): void => void statements().remove.run(dir, file),
    /** May be lost in a power cut: then files are read again. */
    write: (work: () => void): void => withoutWaiting(current(), () => current().transaction(work).immediate()),
  }
}

export function freeFile(dir: string, file: string, waiting: ReadonlySet<string>): string {
  const taken = (name: string) => waiting.has(name) || readMemoryFile(dir, name) !== undefined
  for (let n = 1; n < 1_000; n++) {
    const name = numbered(file, n)
    if (!taken(name)) return name
  }
  throw new MemoryError('CONFLICT', `there are too many memories called like ${file}`, {
    hint: 'give the memory a file name of your own',
  })
}
