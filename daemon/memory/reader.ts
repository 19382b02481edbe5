/** Answers about memories: the index, the list, one of them now or as it was. Changes nothing. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../../schema/caller.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Agent, Memory, MemoryIndex, MemoryItem, MemoryList } from '../../schema/memory.ts'
import type { MemoryType } from '../../schema/values.ts'
import type { Core } from '../core.ts'
import type { MayBeAt } from '../platform/safe-folder.ts'
import type { Projects } from '../projects/projects.ts'
import type { Catalogue } from './catalogue.ts'
import { INDEX_FILE } from './file-names.ts'
import { isThere, readMemoryFile } from './folder.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import type { Journal } from './journal.ts'
import type { ScannedMemory } from './scan.ts'
import type { SearchIndex } from './search-index.ts'
import { type TopicFields, topicFields, withValues } from './topic-file.ts'
import { noMemory } from './write-checks.ts'

type ListFilter = { type: MemoryType | undefined; q: string | undefined }

export function createReader(
  { settings }: Core,
  projects: Projects,
  catalogue: Catalogue,
  journal: Journal,
  searchIndex: SearchIndex,
) {
  const mayBeAt = projects.isMemoryDir
  return {
    index: (cwd: string, caller: Caller): MemoryIndex => {
      const { dir, off } = projects.find(cwd, caller)
      if (off !== undefined) return { ...indexAt(dir, ''), skipped: 'off' }
      const withTeam = settings.current().team.enabled
      const { own, team } = isThere(dir) ? readIndexes(dir, { withTeam, mayBeAt }) : { own: '' }
      return { ...indexAt(dir, own), ...(team && { team: indexAt(join(dir, 'team'), team) }) }
    },
    list: async (cwd: string, caller: Caller, { type, q }: ListFilter): Promise<MemoryList> => {
      const { dir, off } = projects.find(cwd, caller)
      if (off !== undefined) return { dir, items: [], older: 0, skipped: 'off' }
      const { items, older } =
        q === undefined
          ? await catalogue.listSafe(dir)
          : { items: searchIndex.search(dir, q).flatMap((file) => catalogue.read(dir, file) ?? []), older: 0 }
      return { dir, items: items.filter((item) => !type || item.type === type).map(toItem), older }
    },
    /** `at`: as it was then. `agent`: of that type of sub-agent. */
    get: (cwd: string, caller: Caller, file: string, at?: number, agent?: Agent): Memory => {
      const { dir, off } = (agent ? projects.ofAgent(agent) : projects).find(cwd, caller)
      const read = () => (at === undefined ? now(dir, file, mayBeAt) : then(journal, dir, file, at))
      const found = off === undefined ? read() : undefined
      if (!found) throw noMemory(at === undefined ? file : `${file} at that time`)
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

function now(dir: string, file: string, mayBeAt: MayBeAt): Found | undefined {
  const present = isThere(dir) ? readMemoryFile(dir, file, { mayBeAt }) : undefined
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
    ...withValues({ name, description, type, trust }),
    modifiedAt: new Date(modifiedMs).toISOString(),
    ...(hash !== undefined && { hash }),
    scope: file.startsWith('team/') ? 'team' : 'private',
  }
}
