/** Answers about memories: the index, the list, one of them now or as it was. Changes nothing. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Memory, MemoryIndex, MemoryItem, MemoryList, MemoryTypeName } from '../../schema/memory.ts'
import type { Journal } from '../store/journal.ts'
import { INDEX_FILE, inFolder, readPresent } from './folder.ts'
import { loadIndex } from './index-file.ts'
import type { Places } from './place.ts'
import { type ScannedMemory, scanMemories } from './scan.ts'
import { parseTopic } from './topic-file.ts'

export type Reading = {
  index(cwd: string, caller: Caller): MemoryIndex
  list(cwd: string, caller: Caller, type: MemoryTypeName | undefined): MemoryList
  get(cwd: string, caller: Caller, file: string, at: number | undefined): Memory
}

export function createReading({ places, journal }: { places: Places; journal: Journal }): Reading {
  return {
    index: (cwd, caller) => {
      const { dir, off } = places.find(cwd, caller)
      const path = join(dir, INDEX_FILE)
      if (off !== undefined) return { path, content: '', lines: 0, bytes: 0, truncated: false, skipped: 'off' }
      const present = existsSync(dir) ? inFolder(dir, (folder) => folder.read(INDEX_FILE)) : undefined
      const { content, lines, bytes, truncated } = loadIndex(present?.bytes ?? '')
      return { path, content, lines, bytes, truncated }
    },
    list: (cwd, caller, type) => {
      const { dir, off } = places.find(cwd, caller)
      if (off !== undefined) return { dir, items: [], older: 0, skipped: 'off' }
      const { items, older } = scanMemories(dir)
      return { dir, items: items.filter((item) => !type || item.type === type).map(toItem), older }
    },
    get: (cwd, caller, file, at) => {
      const { dir, off } = places.find(cwd, caller)
      const found = off === undefined ? (at === undefined ? now(dir, file) : then(journal, dir, file, at)) : undefined
      if (!found)
        throw new MemoryError('NOT_FOUND', `there is no memory ${file}${at === undefined ? '' : ' at that time'}`)
      const { name, description, type, trust } = parseTopic(found.text)
      const modifiedAt = new Date(found.modifiedMs).toISOString()
      return {
        ...toItem({ file, modifiedAt, modifiedMs: found.modifiedMs, bytes: 0 }),
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(type !== undefined && { type }),
        ...(trust !== undefined && { trust }),
        path: join(dir, file),
        hash: found.hash,
        content: found.text,
        evidence: journal.evidence(dir, file),
      }
    },
  }
}

type Found = { hash: string; text: string; modifiedMs: number }

function now(dir: string, file: string): Found | undefined {
  if (!existsSync(dir)) return undefined
  const present = inFolder(dir, (folder) => readPresent(folder, file))
  if (!present) return undefined
  const { mtimeMs = 0 } = lstatSync(join(dir, file), { throwIfNoEntry: false }) ?? {}
  return { hash: present.hash, text: present.text, modifiedMs: mtimeMs }
}

function then(journal: Journal, dir: string, file: string, at: number): Found | undefined {
  const change = journal.at(dir, file, at)
  return change?.after && { ...change.after, modifiedMs: change.at }
}

function toItem({ modifiedMs: _ms, bytes: _bytes, ...item }: ScannedMemory): MemoryItem {
  return { ...item, scope: item.file.startsWith('team/') ? 'team' : 'private' }
}
