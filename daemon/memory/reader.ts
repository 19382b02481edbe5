/** Answers about memories: the index, the list, one of them now or as it was. Changes nothing. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Memory, MemoryIndex, MemoryItem, MemoryList, MemoryType } from '../../schema/memory.ts'
import type { ProjectFinder } from '../projects/projects.ts'
import type { Catalogue } from './catalogue.ts'
import { INDEX_FILE } from './file-names.ts'
import { readMemoryFile } from './folder.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import type { Journal } from './journal.ts'
import { type ScannedMemory, timeOf } from './scan.ts'
import type { Searching } from './search-index.ts'
import { type TopicFields, topicFields } from './topic-file.ts'
import type { CredentialNames } from './write-checks.ts'

export type ListFilter = { type: MemoryType | undefined; q: string | undefined }

export type Reading = {
  index(cwd: string, caller: Caller): MemoryIndex
  list(cwd: string, caller: Caller, filter: ListFilter): Promise<MemoryList>
  get(cwd: string, caller: Caller, file: string, at: number | undefined): Memory
}

type Deps = {
  places: ProjectFinder
  journal: Journal
  catalogue: Catalogue
  searching: Searching
  names: CredentialNames
  teamEnabled: () => boolean
}

export function createReading({ places, journal, catalogue, searching, names, teamEnabled }: Deps): Reading {
  /** Another program may have given a file such a name; the journal's were looked through. */
  const withoutTelling = async (dir: string, items: readonly ScannedMemory[]): Promise<ScannedMemory[]> => {
    const shown: ScannedMemory[] = []
    for (const item of items)
      if (journal.tip(dir, item.file) !== undefined || !(await names.has(item.file))) shown.push(item)
    return shown
  }

  return {
    index: (cwd, caller) => {
      const { dir, off } = places.find(cwd, caller)
      if (off !== undefined) return { ...indexAt(dir, ''), skipped: 'off' }
      const { own, team } = existsSync(dir) ? readIndexes(dir, { withTeam: teamEnabled() }) : { own: '' }
      return { ...indexAt(dir, own), ...(team && { team: indexAt(join(dir, 'team'), team) }) }
    },
    list: async (cwd, caller, { type, q }) => {
      const { dir, off } = places.find(cwd, caller)
      if (off !== undefined) return { dir, items: [], older: 0, skipped: 'off' }
      // Words are found by the journal, which knows no name with a credential in it.
      const found =
        q === undefined ? undefined : searching.search(dir, q).flatMap((file) => catalogue.read(dir, file) ?? [])
      const { items, older } = found ? { items: found, older: 0 } : catalogue.list(dir)
      const shown = found ?? (await withoutTelling(dir, items))
      return { dir, items: shown.filter((item) => !type || item.type === type).map(toItem), older }
    },
    get: (cwd, caller, file, at) => {
      const { dir, off } = places.find(cwd, caller)
      const found = off === undefined ? (at === undefined ? now(dir, file) : then(journal, dir, file, at)) : undefined
      if (!found)
        throw new MemoryError('NOT_FOUND', `there is no memory ${file}${at === undefined ? '' : ' at that time'}`)
      return {
        ...toItem({ file, modifiedMs: found.modifiedMs }),
        ...topicFields(found.text),
        path: join(dir, file),
        hash: found.hash,
        content: found.text,
        evidence: journal.evidence(dir, file),
      }
    },
  }
}

function indexAt(dir: string, text: string): Omit<MemoryIndex, 'team' | 'skipped'> {
  const { content, lines, bytes, truncated } = loadIndex(text)
  return { path: join(dir, INDEX_FILE), content, lines, bytes, truncated }
}

type Found = { hash: string; text: string; modifiedMs: number }

function now(dir: string, file: string): Found | undefined {
  if (!existsSync(dir)) return undefined
  const present = readMemoryFile(dir, file)
  if (!present) return undefined
  const { mtimeMs = 0 } = lstatSync(join(dir, file), { throwIfNoEntry: false }) ?? {}
  return { hash: present.hash, text: present.text, modifiedMs: mtimeMs }
}

function then(journal: Journal, dir: string, file: string, at: number): Found | undefined {
  const change = journal.at(dir, file, at)
  if (!change?.after) return undefined
  const { hash, text } = change.after
  if (text === undefined) throw new MemoryError('NOT_FOUND', `what ${file} said at that time was purged`)
  return { hash, text, modifiedMs: change.at }
}

type Listed = Partial<TopicFields> & Pick<ScannedMemory, 'file' | 'modifiedMs' | 'hash'>

function toItem({ file, name, description, type, trust, modifiedMs, hash }: Listed): MemoryItem {
  return {
    file,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(type !== undefined && { type }),
    ...(trust !== undefined && { trust }),
    modifiedAt: timeOf({ modifiedMs }),
    ...(hash !== undefined && { hash }),
    scope: file.startsWith('team/') ? 'team' : 'private',
  }
}
