/** Answers about memories: the index, the list, one of them now or as it was. Changes nothing. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Memory, MemoryIndex, MemoryItem, MemoryList, MemoryType } from '../../schema/memory.ts'
import type { Answers, Made } from './answers.ts'
import type { Catalogue } from './catalogue.ts'
import { INDEX_FILE } from './file-names.ts'
import { inFolder, readPresent } from './folder.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import type { Journal } from './journal.ts'
import type { Places } from './place.ts'
import { readMemories, type ScannedMemory } from './scan.ts'
import type { Searching } from './search-index.ts'
import { topicFields } from './topic-file.ts'
import type { TellingNames } from './write-checks.ts'

export type ListFilter = { type: MemoryType | undefined; q: string | undefined }

export type Reading = {
  index(cwd: string, caller: Caller): Promise<MemoryIndex>
  list(cwd: string, caller: Caller, filter: ListFilter): Promise<MemoryList>
  get(cwd: string, caller: Caller, file: string, at: number | undefined): Memory
}

type Deps = {
  places: Places
  journal: Journal
  catalogue: Catalogue
  searching: Searching
  answers: Answers
  names: Pick<TellingNames, 'isTelling'>
  teamEnabled: () => boolean
}

export function createReading({ places, journal, catalogue, searching, answers, names, teamEnabled }: Deps): Reading {
  const makeIndex = (cwd: string, caller: Caller): Made<MemoryIndex> => {
    const { dir, off, madeFrom } = places.find(cwd, caller)
    const from = [...madeFrom.map((path) => ({ path })), { folder: dir }, { folder: join(dir, 'team') }]
    if (off !== undefined) return { answer: { ...indexAt(dir, ''), skipped: 'off' }, from }
    const { own, team } = existsSync(dir) ? readIndexes(dir, { withTeam: teamEnabled() }) : { own: '' }
    return { answer: { ...indexAt(dir, own), ...(team && { team: indexAt(join(dir, 'team'), team) }) }, from }
  }

  const makeList = (cwd: string, caller: Caller, type: MemoryType | undefined): Made<MemoryList> => {
    const { dir, off, madeFrom } = places.find(cwd, caller)
    const location = madeFrom.map((path) => ({ path }))
    if (off !== undefined) return { answer: { dir, items: [], older: 0, skipped: 'off' }, from: location }
    const { items, folders, older } = catalogue.list(dir)
    return {
      answer: { dir, items: items.filter((item) => !type || item.type === type).map(toItem), older },
      from: [...location, ...['', ...folders].map((folder) => ({ folder: join(dir, folder) }))],
    }
  }

  /** By the list that was kept: it is looked through once for as long as nothing stirs. */
  const harmless = new WeakMap<MemoryList, MemoryList>()
  const withoutTelling = async (list: MemoryList): Promise<MemoryList> => {
    const known = harmless.get(list)
    if (known) return known
    const journaled = new Set(journal.files(list.dir))
    const telling = new Set<string>()
    for (const { file } of list.items) if (!journaled.has(file) && (await names.isTelling(file))) telling.add(file)
    const told = telling.size === 0 ? list : { ...list, items: list.items.filter(({ file }) => !telling.has(file)) }
    harmless.set(list, told)
    return told
  }

  return {
    index: (cwd, caller) => answers.answer(keyOf('index', cwd, caller), () => makeIndex(cwd, caller)),
    list: async (cwd, caller, { type, q }) => {
      if (q === undefined)
        return withoutTelling(
          await answers.answer(keyOf(`list ${type}`, cwd, caller), () => makeList(cwd, caller, type)),
        )
      // Words are found by the journal, which knows no name that tells.
      const { dir, off } = places.find(cwd, caller)
      if (off !== undefined) return { dir, items: [], older: 0, skipped: 'off' }
      const found = readMemories(dir, searching.search(dir, q))
      return { dir, items: found.filter((item) => !type || item.type === type).map(toItem), older: 0 }
    },
    get: (cwd, caller, file, at) => {
      const { dir, off } = places.find(cwd, caller)
      const found = off === undefined ? (at === undefined ? now(dir, file) : then(journal, dir, file, at)) : undefined
      if (!found)
        throw new MemoryError('NOT_FOUND', `there is no memory ${file}${at === undefined ? '' : ' at that time'}`)
      const modifiedAt = new Date(found.modifiedMs).toISOString()
      return {
        ...toItem({ file, modifiedAt, modifiedMs: found.modifiedMs, bytes: 0 }),
        ...topicFields(found.text),
        path: join(dir, file),
        hash: found.hash,
        content: found.text,
        evidence: journal.evidence(dir, file),
      }
    },
  }
}

export function keyOf(what: string, cwd: string, { env }: Caller): string {
  // Most callers have none.
  for (const _ in env) return `${what}\n${cwd}\n${JSON.stringify(env)}`
  return `${what}\n${cwd}\n{}`
}

function indexAt(dir: string, text: string): Omit<MemoryIndex, 'team' | 'skipped'> {
  const { content, lines, bytes, truncated } = loadIndex(text)
  return { path: join(dir, INDEX_FILE), content, lines, bytes, truncated }
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
  if (!change?.after) return undefined
  const { hash, text } = change.after
  if (text === undefined) throw new MemoryError('NOT_FOUND', `what ${file} said at that time was purged`)
  return { hash, text, modifiedMs: change.at }
}

function toItem({ modifiedMs: _ms, bytes: _bytes, ...item }: ScannedMemory): MemoryItem {
  return { ...item, scope: item.file.startsWith('team/') ? 'team' : 'private' }
}
