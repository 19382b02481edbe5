/**
 * Keeps long results of tools in files of their own, without credentials, and gives them back. What was decided for a
 * result stays decided: the file is on disk before the decision is, and both are the same each time they are made.
 */
import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { type NewFile, writeMany } from '../platform/files.ts'
import { createInTurn } from '../platform/queue.ts'
import { isWithinCharacter, safeId } from '../platform/text.ts'
import { isText } from './messages.ts'

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

  const inTurn = createInTurn()
  /** From what is known to the rows no other call for the session comes in between. */
  const alone = <T>({ harness, session }: SessionKey, work: () => Promise<T>): Promise<T> =>
    inTurn(JSON.stringify([harness, session]), work)

  const decide = async (key: SessionKey, message: string | undefined, given: readonly GivenResult[]) => {
    const nowMs = clock.now()
    const ids = given.map(({ toolUseId }) => toolUseId)
    const known = new Map(ids.map((toolUse) => [toolUse, table.find({ ...key, toolUse })]))
    // Of two with one id the first counts, as it does when they come one after the other.
    const fresh = given.filter(({ toolUseId }, n) => !known.get(toolUseId) && ids.indexOf(toolUseId) === n)
    const candidates = fresh.flatMap(({ toolUseId, tool, content }) => {
      const text = textOf(content)
      return text === undefined ? [] : [{ toolUseId, tool, chars: text.length }]
    })
    const stays = [...known.values()].reduce((sum, one) => sum + shownChars(one), 0)
    const others = message === undefined ? 0 : table.shownOf(key, message, ids)
    const stored = toStore(candidates, stays + others, limits())
    const files: NewFile[] = []
    const rows: NewResult[] = []
    for (const { toolUseId, content } of fresh) {
      const row = { toolUse: toolUseId, message, chars: lengthOf(content), shown: undefined }
      const text = stored.has(toolUseId) ? await redact(textOf(content) ?? '') : undefined
      if (text === undefined) {
        rows.push(row)
        continue
      }
      const path = pathOf(key, toolUseId)
      files.push({ path, text })
      rows.push({ ...row, shown: standIn(text, path) })
    }
    await writeMany(files)
    if (rows.length > 0) table.freeze(key, rows, nowMs)
    if (table.touch(key, nowMs)) freshen(folderOf(key), nowMs)
  }

  /** A name is kept as it is, in a row and as that of a file: one that looks like a credential becomes its hash. */
  const nameOf = async (id: string) => ((await redact(id)) === id ? id : hash('sha256', id))
  const named = async ({ harness, session }: SessionKey) => ({ harness, session: await nameOf(session) })

  return {
    /** The lowest there are: whoever has only shorter ones need not ask. */
    limits: () => {
      const { chars, charsOf, charsPerMessage } = limits()
      return { chars: Math.min(chars, ...Object.values(charsOf)), charsPerMessage }
    },
    keep: async (
      session: SessionKey,
      messageId: string | undefined,
      given: readonly GivenResult[],
    ): Promise<KeptResult[]> => {
      if (!limits().enabled) return given.map(({ toolUseId, content }) => ({ toolUseId, stored: false, content }))
      const key = await named(session)
      const message = messageId === undefined ? undefined : await nameOf(messageId)
      const results: GivenResult[] = []
      for (const result of given) results.push({ ...result, toolUseId: await nameOf(result.toolUseId) })
      await alone(key, () => decide(key, message, results))
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
      const originals: { toolUse: string; text: string }[] = []
      for (const { toolUseId: id, text } of results) {
        if (text === '') continue
        originals.push({ toolUse: await nameOf(id), text: await redact(text) })
        await turn()
      }
      await alone(key, () =>
        writeMany(
          originals
            .filter(({ toolUse }) => table.find({ ...key, toolUse })?.shown === undefined)
            .map(({ toolUse, text }) => ({ path: pathOf(key, toolUse), text })),
        ),
      )
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
      const begin = wholeFrom(text, Math.min(from, text.length))
      const wanted = Math.min(Math.max(to ?? text.length, from), text.length)
      const whole = wholeFrom(text, wanted)
      // One that asks for half a character gets it whole, or it would ask for ever.
      const end = whole === begin && wanted > from ? wanted + 1 : Math.max(begin, whole)
      return { toolUseId, content: text.slice(begin, end), from: begin, to: end, chars: text.length }
    },
  }
}

/** The place itself, or the one before it where it lies within a character: whoever asks piece by piece gets each once. */
function wholeFrom(text: string, at: number): number {
  return isWithinCharacter(text, at) ? at - 1 : at
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

/** Decides which results of tools are kept in a file, and what stands in the context for one. Pure. */

export type Candidate = { toolUseId: string; tool: string; chars: number }

export type StoringLimits = {
  /** The most of one result that stays in the context. */
  chars: number
  /** The same for single tools. */
  charsOf: Readonly<Record<string, number>>
  /** The most of all results of one message. */
  charsPerMessage: number
}

const PREVIEW_BYTES = 2_000

/** `stays`: what stays in the context of the same message whatever is decided here. */
export function toStore(fresh: readonly Candidate[], stays: number, limits: StoringLimits): Set<string> {
  const limitOf = (tool: string) =>
    Object.hasOwn(limits.charsOf, tool) ? (limits.charsOf[tool] as number) : limits.chars
  const large = fresh.filter(({ tool, chars }) => chars > limitOf(tool))
  const stored = new Set(large.map(({ toolUseId }) => toolUseId))
  const rest = fresh.filter(({ toolUseId }) => !stored.has(toolUseId)).toSorted((a, b) => b.chars - a.chars)
  let shown = stays + rest.reduce((sum, { chars }) => sum + chars, 0) + stored.size * PREVIEW_BYTES
  for (const { toolUseId, chars } of rest) {
    // What is no longer than its stand-in saves nothing.
    if (shown <= limits.charsPerMessage || chars <= 2 * PREVIEW_BYTES) break
    stored.add(toolUseId)
    shown -= chars - PREVIEW_BYTES
  }
  return stored
}

/** What stands in the context for a result: how long it is, where it is, and how it begins. */
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
  const bytes = Buffer.from(text.slice(0, PREVIEW_BYTES))
  const part = bytes.length <= PREVIEW_BYTES ? text.slice(0, PREVIEW_BYTES) : wholeCharacters(bytes)
  const cut = part.length < text.length ? atLine(part) : part
  return cut.replace(/<(?=\/?persisted-output)/gi, '&lt;').replace(/[\ud800-\udbff]$/, '')
}

function wholeCharacters(bytes: Buffer): string {
  return bytes
    .subarray(0, PREVIEW_BYTES)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}

function atLine(text: string): string {
  const end = text.lastIndexOf('\n')
  return end > text.length / 2 ? text.slice(0, end) : text
}

/** What was decided for each result of a tool, once: whether it stays in the context or is kept in a file, and what stands there then. */

export type ResultKey = { harness: string; session: string; toolUse: string }

/** `shown`: what stands in the context in its place; nothing for one that stays as it is. */
export type FrozenResult = { chars: number; shown: string | undefined }

export type NewResult = FrozenResult & { toolUse: string; message: string | undefined }

export type ToolResults = {
  find(key: ResultKey): FrozenResult | undefined
  /** How many characters of one message stay in the context by what was decided so far, but for those named. */
  shownOf(session: Omit<ResultKey, 'toolUse'>, message: string, but: readonly string[]): number
  /** All of them or none; what was decided before stays. */
  freeze(session: Omit<ResultKey, 'toolUse'>, results: readonly NewResult[], at: number): void
  /** A session that is used again lives on. True where that was not known yet. */
  touch(session: Omit<ResultKey, 'toolUse'>, at: number): boolean
  /** Decisions of sessions that nobody used since. */
  expire(beforeMs: number): number
}

/** To write down each use would cost more than it is worth. */
const DAY_MS = 86_400_000

export function createToolResults(db: Db): ToolResults {
  const find = db.prepare('SELECT chars, shown FROM tool_results WHERE session = ? AND harness = ? AND tool_use = ?')
  const shownOf = db
    .prepare(
      `SELECT COALESCE(SUM(COALESCE(LENGTH(shown), chars)), 0) FROM tool_results
       WHERE session = @session AND harness = @harness AND message = @message
         AND tool_use NOT IN (SELECT value FROM json_each(@but))`,
    )
    .pluck()
  const insert = db.prepare(
    `INSERT INTO tool_results (harness, session, tool_use, message, chars, shown, at)
     VALUES (@harness, @session, @toolUse, @message, @chars, @shown, @at) ON CONFLICT DO NOTHING`,
  )
  const touch = db.prepare(
    'UPDATE tool_results SET at = @at WHERE session = @session AND harness = @harness AND at < @before',
  )
  const expire = db.prepare('DELETE FROM tool_results WHERE at < ?')
  return {
    find: ({ harness, session, toolUse }) => {
      const row = find.get(session, harness, toolUse) as { chars: number; shown: string | null } | undefined
      return row && { chars: row.chars, shown: row.shown ?? undefined }
    },
    shownOf: (session, message, but) => shownOf.get({ ...session, message, but: JSON.stringify(but) }) as number,
    freeze: db.transaction((session: Omit<ResultKey, 'toolUse'>, results: readonly NewResult[], at: number) => {
      for (const { toolUse, message = null, chars, shown = null } of results)
        insert.run({ ...session, toolUse, message, chars, shown, at })
    }),
    touch: (session, at) => touch.run({ ...session, at, before: at - DAY_MS }).changes > 0,
    expire: (beforeMs) => expire.run(beforeMs).changes,
  }
}
