/**
 * Keeps long results of tools in files of their own, without credentials, and gives them back. What was decided for a
 * result stays decided: the file is on disk before the decision is, and both are the same each time they are made.
 */
import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Clock } from '../platform/clock.ts'
import { writeAtomic } from '../platform/files.ts'
import { safeId } from '../platform/safe-id.ts'
import type { NewResult, ToolResults } from '../store/tool-results.ts'
import { isText } from './message.ts'
import { type StoringLimits, standIn, toStore } from './storing.ts'

export type SessionKey = { harness: string; session: string }
/** As the API has it: text, or blocks. */
export type Content = string | Record<string, unknown>[]
export type GivenResult = { toolUseId: string; tool: string; content: Content }
export type KeptResult = { toolUseId: string; stored: boolean; content: Content; path?: string }
export type Piece = { toolUseId: string; content: string; from: number; to: number; chars: number }

type Deps = {
  /** Where they are kept. */
  dir: string
  table: ToolResults
  redact: (text: string) => Promise<string>
  limits: () => StoringLimits & { enabled: boolean }
  clock: Pick<Clock, 'now'>
}

export type ResultStore = ReturnType<typeof createResultStore>

export function createResultStore({ dir, table, redact, limits, clock }: Deps) {
  const folderOf = ({ harness, session }: SessionKey) =>
    join(dir, harness === 'generic' ? safeId(session) : `${harness}+${safeId(session)}`)
  const pathOf = (key: SessionKey, toolUseId: string) => join(folderOf(key), `${safeId(toolUseId)}.txt`)

  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeAtomic(path, text)
  }

  /** From here to the rows nothing waits, so that no other call comes in between. */
  const decide = (
    key: SessionKey,
    message: string | undefined,
    given: readonly (GivenResult & { text: string | undefined })[],
  ) => {
    const nowMs = clock.now()
    const known = new Map(given.map(({ toolUseId }) => [toolUseId, table.find({ ...key, toolUse: toolUseId })]))
    const fresh = given.filter(({ toolUseId }) => !known.get(toolUseId))
    const candidates = fresh.flatMap(({ toolUseId, tool, text }) =>
      text === undefined ? [] : [{ toolUseId, tool, chars: text.length }],
    )
    const stays = given.reduce((sum, { toolUseId }) => sum + shownChars(known.get(toolUseId)), 0)
    const others =
      message === undefined
        ? 0
        : table.shownOf(
            key,
            message,
            given.map(({ toolUseId }) => toolUseId),
          )
    const stored = toStore(candidates, stays + others, limits())
    const rows = fresh.map(({ toolUseId, content, text }): NewResult => {
      const chars = text?.length ?? lengthOf(content)
      if (text === undefined || !stored.has(toolUseId)) return { toolUse: toolUseId, message, chars, shown: undefined }
      const path = pathOf(key, toolUseId)
      write(path, text)
      return { toolUse: toolUseId, message, chars, shown: standIn(text, path) }
    })
    if (rows.length > 0) table.freeze(key, rows, nowMs)
    if (table.touch(key, nowMs)) freshen(folderOf(key), nowMs)
  }

  /** A name is kept as it is, in a row and as that of a file: one that looks like a credential becomes its hash. */
  const nameOf = async (id: string) => ((await redact(id)) === id ? id : hash('sha256', id))
  const named = async ({ harness, session }: SessionKey) => ({ harness, session: await nameOf(session) })

  return {
    keep: async (
      session: SessionKey,
      messageId: string | undefined,
      given: readonly GivenResult[],
    ): Promise<KeptResult[]> => {
      const { enabled, ...limit } = limits()
      if (!enabled) return given.map(({ toolUseId, content }) => ({ toolUseId, stored: false, content }))
      const key = await named(session)
      const message = messageId === undefined ? undefined : await nameOf(messageId)
      const results: GivenResult[] = []
      for (const result of given) results.push({ ...result, toolUseId: await nameOf(result.toolUseId) })
      const shortest = Math.min(limit.chars, ...Object.values(limit.charsOf))
      const ids = results.map(({ toolUseId }) => toolUseId)
      const others = message === undefined ? 0 : table.shownOf(key, message, ids)
      const isMuch = results.reduce((total, { content }) => total + lengthOf(content), others) > limit.charsPerMessage
      const mayBeStored = (content: Content) => lengthOf(content) > shortest || isMuch
      const cleaned = []
      for (const result of results) {
        const text = textOf(result.content)
        const isKnown = table.find({ ...key, toolUse: result.toolUseId }) !== undefined
        const clean = text === undefined || isKnown || !mayBeStored(result.content) ? text : await redact(text)
        cleaned.push({ ...result, text: clean })
      }
      decide(key, message, cleaned)
      return results.map(({ toolUseId: name, content }, n) => {
        const { toolUseId } = given[n] as GivenResult
        const shown = table.find({ ...key, toolUse: name })?.shown
        if (shown === undefined) return { toolUseId, stored: false, content }
        return { toolUseId, stored: true, content: shown, path: pathOf(key, name) }
      })
    },
    /** The originals of what is cleared, unless they are there already. Decides nothing about the context. */
    save: async (session: SessionKey, results: readonly { toolUseId: string; text: string }[]): Promise<void> => {
      const key = await named(session)
      for (const { toolUseId: id, text } of results) {
        const toolUseId = await nameOf(id)
        if (text === '' || table.find({ ...key, toolUse: toolUseId })?.shown !== undefined) continue
        write(pathOf(key, toolUseId), await redact(text))
        // Each waits for the disk: others come in between.
        await turn()
      }
    },
    /** Characters `from` up to `to` of what is kept. */
    read: async (
      session: SessionKey,
      toolUseId: string,
      { from = 0, to }: { from?: number | undefined; to?: number | undefined },
    ): Promise<Piece> => {
      const text = readText(pathOf(await named(session), await nameOf(toolUseId)))
      if (text === undefined)
        throw new MemoryError('NOT_FOUND', `nothing is kept of the result ${toolUseId}`, {
          hint: 'short results are not kept, and old ones expire',
        })
      const begin = Math.min(from, text.length)
      const end = Math.min(Math.max(to ?? text.length, begin), text.length)
      return { toolUseId, content: text.slice(begin, end), from: begin, to: end, chars: text.length }
    },
  }
}

function shownChars(known: { chars: number; shown: string | undefined } | undefined): number {
  return known ? (known.shown?.length ?? known.chars) : 0
}

/** Images stay where they are: no file of text can stand for one. */
function textOf(content: Content): string | undefined {
  if (typeof content === 'string') return content
  const texts = content.flatMap((part) => (isText(part) ? [part.text] : []))
  return texts.length === content.length ? texts.join('\n') : undefined
}

function lengthOf(content: Content): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, part) => sum + (isText(part) ? part.text.length : 0), 0)
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Expiry goes by the time of each file. */
function freshen(folder: string, nowMs: number): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), nowMs / 1_000, nowMs / 1_000)
}
