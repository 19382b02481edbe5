/** The memory prompt of a caller. What a session was given stays, byte for byte, until the session begins anew. */
import type { Caller } from '../../schema/caller.ts'
import type { MemoryPrompt } from '../../schema/memory.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { isDiskTrouble } from '../platform/disk.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { safeId } from '../platform/text.ts'
import type { ProjectFinder } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { inFolder } from './folder.ts'
import { loadIndex, readIndexes } from './index-file.ts'
import { memoryPrompt } from './prompt-text.ts'

type Deps = {
  places: ProjectFinder
  prompts: Prompts
  clock: Clock
  teamEnabled: () => boolean
  /** What a person wants to be added to the prompt. */
  guidelines: (caller: Caller) => string | undefined
  onDiskTrouble: (error: unknown) => void
}

/** A session is a harness and an id. */
export type SessionName = { sessionId: string; harness: string }

export type Prompting = {
  prompt(cwd: string, caller: Caller, session: SessionName | undefined): Promise<MemoryPrompt>
  /** The session was cleared or compacted: its next prompt is made anew, in every directory. */
  renew(session: SessionName): void
}

const DAY_MS = 86_400_000

export function createPrompting(deps: Deps): Prompting {
  const { places, prompts, clock, teamEnabled, guidelines, onDiskTrouble } = deps
  const clean = redactOnce()
  let renewals = 0

  /** A prompt is for reading: a disk that takes no writes costs its being kept, not its being answered. */
  const unlessDiskFails = <T>(write: () => T, otherwise: T): T => {
    try {
      return write()
    } catch (error) {
      if (!isDiskTrouble(error)) throw error
      onDiskTrouble(error)
      return otherwise
    }
  }

  const make = async (dir: string, caller: Caller): Promise<string> => {
    const { own, team } = readIndexes(dir, { withTeam: teamEnabled() })
    // Cleaned before it is cut: half of a credential no longer looks like one.
    const shown = async (index: string) => loadIndex(await clean(index)).content
    return memoryPrompt({
      dir,
      index: await shown(own),
      team: team === undefined ? undefined : await shown(team),
      extraGuidelines: await clean(guidelines(caller) ?? ''),
    })
  }

  const frozen = async (key: PromptKey, caller: Caller): Promise<string> => {
    const now = clock.now()
    const given = prompts.find(key)
    if (given) {
      if (now - given.at > DAY_MS) unlessDiskFails(() => prompts.touch(key, now), undefined)
      makeAgain(key.dir)
      return given.text
    }
    const before = renewals
    const text = await make(key.dir, caller)
    // A session that began anew meanwhile must not be left with what was read before.
    if (renewals !== before) return frozen(key, caller)
    return unlessDiskFails(() => prompts.freeze(key, text, now), text)
  }

  return {
    prompt: async (cwd, caller, session) => {
      const { dir, off } = places.find(cwd, caller)
      if (off !== undefined) return { text: '', skipped: 'off' }
      return { text: session ? await frozen({ ...nameOf(session), dir }, caller) : await make(dir, caller) }
    },
    renew: (session) => {
      renewals += 1
      prompts.forget(nameOf(session))
    },
  }
}

/** An index may have a megabyte: each of the last few texts is searched once. */
const MOST_CLEAN = 8

function redactOnce(): (text: string) => Promise<string> {
  const kept = new Map<string, string>()
  return async (text) => {
    if (text === '') return ''
    const key = hashOf(text)
    const clean = kept.get(key) ?? (await redact(text)).text
    // The map is in order of use.
    kept.delete(key)
    kept.set(key, clean)
    if (kept.size > MOST_CLEAN) kept.delete(kept.keys().next().value as string)
    return clean
  }
}

/** The text says that the directory exists. It stays as it is even where that cannot be made true any more. */
function makeAgain(dir: string): void {
  try {
    inFolder(dir, () => {})
  } catch {}
}

function nameOf({ sessionId, harness }: SessionName): Omit<PromptKey, 'dir'> {
  return { harness: safeId(harness), session: safeId(sessionId) }
}

/** The memory prompt that each session was given in each directory: the first one stays until it is forgotten. */

export type PromptKey = { harness: string; session: string; dir: string }

/** `at`: when it was last asked for, to the day. */
export type FrozenPrompt = { text: string; at: number }

export type Prompts = {
  find(key: PromptKey): FrozenPrompt | undefined
  touch(key: PromptKey, at: number): void
  /** Keeps the text unless there is one already, and returns the one that counts. Old ones go. */
  freeze(key: PromptKey, text: string, at: number): string
  /** In all directories. */
  forget(session: Omit<PromptKey, 'dir'>): void
}

/** A session that nobody asked for so long is over. */
const KEEP_MS = 30 * 86_400_000

export function createPrompts(db: Db): Prompts {
  const get = db.prepare('SELECT text, at FROM prompts WHERE harness = ? AND session = ? AND dir = ?')
  const insert = db.prepare(`INSERT INTO prompts (harness, session, dir, at, text) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`)
  const touch = db.prepare('UPDATE prompts SET at = ? WHERE harness = ? AND session = ? AND dir = ?')
  const expire = db.prepare('DELETE FROM prompts WHERE at < ?')
  const forget = db.prepare('DELETE FROM prompts WHERE harness = ? AND session = ?')
  const find = ({ harness, session, dir }: PromptKey) => get.get(harness, session, dir) as FrozenPrompt | undefined
  return {
    find,
    touch: ({ harness, session, dir }, at) => void touch.run(at, harness, session, dir),
    freeze: db.transaction((key: PromptKey, text: string, at: number) => {
      expire.run(at - KEEP_MS)
      insert.run(key.harness, key.session, key.dir, at, text)
      return (find(key) as FrozenPrompt).text
    }),
    forget: ({ harness, session }) => void forget.run(harness, session),
  }
}
