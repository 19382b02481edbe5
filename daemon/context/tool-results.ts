/** Keeps long results of tools in files, without credentials. The file is on disk before the decision, which stays. */
import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { ToolResultPiece, ToolResultsKept, ToolResultsRequest } from '../../schema/context.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Db } from '../db/database.ts'
import { type NewFile, writeMany } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { headOfBytes, isWithinCharacter, safeId } from '../platform/text.ts'
import { redact as redactText } from '../secrets/redact.ts'
import type { SessionKey } from '../sessions/message-table.ts'
import type { Settings } from '../settings/settings.ts'
import { withPrivateHidden } from '../transcripts/injected.ts'
import { isText } from './messages.ts'

type GivenResult = ToolResultsRequest['results'][number]
type Content = GivenResult['content']

const redact = async (text: string) => (await redactText(withPrivateHidden(text))).text

export function createToolResults({ stateDir, db, clock, settings }: Core) {
  const dir = join(stateDir, 'tool-results')
  const table = createToolResultTable(db.history)
  const limits = () => settings.current().context
  const folderOf = ({ harness, sessionId }: SessionKey) =>
    join(dir, harness === 'generic' ? safeId(sessionId) : `${harness}+${safeId(sessionId)}`)
  const pathOf = (key: SessionKey, toolUseId: string) => join(folderOf(key), `${safeId(toolUseId)}.txt`)

  /** No other call for the session comes between reading what is known and writing the rows. */
  const inTurn = createInTurn()

  const decide = async (key: SessionKey, message: string | null, given: readonly GivenResult[]) => {
    const nowMs = clock.now()
    const ids = given.map(({ toolUseId }) => toolUseId)
    const known = new Map(ids.map((toolUse) => [toolUse, table.find(key, toolUse)]))
    // Of two results with one id the first counts.
    const fresh = given.filter(({ toolUseId }, n) => !known.get(toolUseId) && ids.indexOf(toolUseId) === n)
    const candidates = fresh.flatMap(({ toolUseId, tool, content }) => {
      const text = textOf(content)
      return text === undefined ? [] : [{ toolUseId, tool, chars: text.length }]
    })
    const stays = [...known.values()].reduce((sum, one) => sum + (one?.shown?.length ?? one?.chars ?? 0), 0)
    const others = message === null ? 0 : table.shownOf(key, message, ids)
    const stored = toStore(candidates, stays + others, limits())
    const files: NewFile[] = []
    const rows: NewResult[] = []
    for (const { toolUseId, content } of fresh) {
      const row: NewResult = { toolUse: toolUseId, message, chars: lengthOf(content), shown: null }
      rows.push(row)
      if (!stored.has(toolUseId)) continue
      const text = await redact(textOf(content) ?? '')
      const path = pathOf(key, toolUseId)
      files.push({ path, text })
      row.shown = standIn(text, path)
    }
    await writeMany(files)
    if (rows.length > 0) table.freeze(key, rows, nowMs)
    if (table.touch(key, nowMs)) freshen(folderOf(key), nowMs)
  }

  /** A name is kept as it is, in a row and as that of a file: one that looks like a credential becomes its hash. */
  const nameOf = async (id: string) => ((await redact(id)) === id ? id : hash('sha256', id))
  const named = async ({ harness, sessionId }: SessionKey) => ({ harness, sessionId: await nameOf(sessionId) })

  return {
    /** The lowest there are: a harness that has only shorter results need not ask. */
    lowestLimits: () => {
      const { toolResultChars, toolResultCharsOf, toolResultCharsPerMessage: charsPerMessage } = limits()
      return { chars: Math.min(toolResultChars, ...Object.values(toolResultCharsOf)), charsPerMessage }
    },
    keep: async (
      session: SessionKey,
      messageId: string | undefined,
      given: readonly GivenResult[],
    ): Promise<ToolResultsKept['results']> => {
      if (!settings.current().context.enabled)
        return given.map(({ toolUseId, content }) => ({ toolUseId, stored: false, content }))
      const key = await named(session)
      const message = messageId === undefined ? null : await nameOf(messageId)
      const results: GivenResult[] = []
      for (const result of given) results.push({ ...result, toolUseId: await nameOf(result.toolUseId) })
      await inTurn(folderOf(key), () => decide(key, message, results))
      return results.map(({ toolUseId: name, content }, n) => {
        const { toolUseId } = given[n] as GivenResult
        const shown = table.find(key, name)?.shown
        if (typeof shown !== 'string') return { toolUseId, stored: false, content }
        return { toolUseId, stored: true, content: shown, path: pathOf(key, name) }
      })
    },
    /** The originals of what is cleared, unless they are there already. Decides nothing about the context. */
    save: async (session: SessionKey, results: readonly { toolUseId: string; text: string }[]): Promise<void> => {
      const key = await named(session)
      const originals: { toolUse: string; text: string }[] = []
      for (const { toolUseId: id, text } of results) {
        if (text === '') continue
        originals.push({ toolUse: await nameOf(id), text: await redact(text) })
        await turn()
      }
      await inTurn(folderOf(key), () => {
        const missing = originals.filter(({ toolUse }) => typeof table.find(key, toolUse)?.shown !== 'string')
        return writeMany(missing.map(({ toolUse, text }) => ({ path: pathOf(key, toolUse), text })))
      })
    },
    expire: table.expire,
    read: async (
      session: SessionKey,
      toolUseId: string,
      { from = 0, to }: { from?: number | undefined; to?: number | undefined },
    ): Promise<ToolResultPiece> => {
      const text = readText(pathOf(await named(session), await nameOf(toolUseId)))
      if (text === undefined)
        throw new MemoryError('NOT_FOUND', `nothing is kept of the result ${toolUseId}`, {
          hint: 'short results are not kept, and old ones expire',
        })
      const begin = wholeFrom(text, Math.min(from, text.length))
      const wanted = Math.min(Math.max(to ?? text.length, from), text.length)
      const whole = wholeFrom(text, wanted)
      // One that asks for half a character gets it whole, or its caller would ask for ever.
      const end = whole === begin && wanted > from ? wanted + 1 : Math.max(begin, whole)
      return { toolUseId, content: text.slice(begin, end), from: begin, to: end, chars: text.length }
    },
  }
}

/** The place itself, or the one before it where it lies within a character: asked piece by piece, each comes once. */
function wholeFrom(text: string, at: number): number {
  return isWithinCharacter(text, at) ? at - 1 : at
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

function freshen(folder: string, nowMs: number): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), nowMs / 1_000, nowMs / 1_000)
}

type Candidate = { toolUseId: string; tool: string; chars: number }

type Limits = Pick<Settings['context'], 'toolResultChars' | 'toolResultCharsOf' | 'toolResultCharsPerMessage'>

const PREVIEW_BYTES = 2_000

/** Which results are kept in a file. `stays`: what stays in the context of the same message whatever is decided here. */
export function toStore(fresh: readonly Candidate[], stays: number, limits: Limits): Set<string> {
  const { toolResultChars, toolResultCharsOf, toolResultCharsPerMessage } = limits
  const limitOf = (tool: string) =>
    Object.hasOwn(toolResultCharsOf, tool) ? (toolResultCharsOf[tool] as number) : toolResultChars
  const large = fresh.filter(({ tool, chars }) => chars > limitOf(tool))
  const stored = new Set(large.map(({ toolUseId }) => toolUseId))
  const rest = fresh.filter(({ toolUseId }) => !stored.has(toolUseId)).toSorted((a, b) => b.chars - a.chars)
  let shown = stays + rest.reduce((sum, { chars }) => sum + chars, 0) + stored.size * PREVIEW_BYTES
  for (const { toolUseId, chars } of rest) {
    // A result that is no longer than its stand-in saves nothing.
    if (shown <= toolResultCharsPerMessage || chars <= 2 * PREVIEW_BYTES) break
    stored.add(toolUseId)
    shown -= chars - PREVIEW_BYTES
  }
  return stored
}

export function standIn(text: string, path: string): string {
  const preview = beginning(text)
  const more = preview.length < text.length ? '\n…' : ''
  return `<persisted-output>
The output has ${text.length} characters (${Buffer.byteLength(text)} bytes) and is kept in ${path}
How it begins:
${preview}${more}
</persisted-output>`
}

/** Whole lines where there are any, never half a character, and nothing that would end the block. */
function beginning(text: string): string {
  const part = headOfBytes(text.slice(0, PREVIEW_BYTES), PREVIEW_BYTES)
  const end = part.lastIndexOf('\n')
  const cut = part.length < text.length && end > part.length / 2 ? part.slice(0, end) : part
  return cut.replace(/<(?=\/?persisted-output)/gi, '&lt;').replace(/[\ud800-\udbff]$/, '')
}

/** `shown`: what stands in the context in its place; nothing for one that stays as it is. */
type Frozen = { chars: number; shown: string | null }
type NewResult = Frozen & { toolUse: string; message: string | null }

/** A use is written down at most once a day. */
const DAY_MS = 86_400_000

function createToolResultTable(db: Db) {
  const find = db.prepare(
    'SELECT chars, shown FROM tool_results WHERE session = @sessionId AND harness = @harness AND tool_use = @toolUse',
  )
  const shownOf = db
    .prepare(
      `SELECT COALESCE(SUM(COALESCE(LENGTH(shown), chars)), 0) FROM tool_results
       WHERE session = @sessionId AND harness = @harness AND message = @message
         AND tool_use NOT IN (SELECT value FROM json_each(@but))`,
    )
    .pluck()
  const insert = db.prepare(
    `INSERT INTO tool_results (harness, session, tool_use, message, chars, shown, at)
     VALUES (@harness, @sessionId, @toolUse, @message, @chars, @shown, @at) ON CONFLICT DO NOTHING`,
  )
  const touch = db.prepare(
    'UPDATE tool_results SET at = @at WHERE session = @sessionId AND harness = @harness AND at < @before',
  )
  const expire = db.prepare('DELETE FROM tool_results WHERE at < ?')
  return {
    find: (key: SessionKey, toolUse: string) => find.get({ ...key, toolUse }) as Frozen | undefined,
    shownOf: (key: SessionKey, message: string, but: readonly string[]) =>
      shownOf.get({ ...key, message, but: JSON.stringify(but) }) as number,
    /** All of them or none; what was decided before stays. */
    freeze: db.transaction((key: SessionKey, results: readonly NewResult[], at: number) => {
      for (const result of results) insert.run({ ...key, ...result, at })
    }),
    /** A session that is used again lives on. True where that was not known yet. */
    touch: (key: SessionKey, at: number) => touch.run({ ...key, at, before: at - DAY_MS }).changes > 0,
    expire: (beforeMs: number): number => expire.run(beforeMs).changes,
  }
}
