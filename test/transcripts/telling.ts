/** A transcript as a test wants to see it: short, and with everything that matters. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { learn, type Session, usageOf } from '../../daemon/transcripts/digest.ts'
import type { Fact, Message, Usage } from '../../daemon/transcripts/formats/facts.ts'
import { present } from '../../daemon/transcripts/formats/fields.ts'
import { adapterFor } from '../../daemon/transcripts/formats/format.ts'
import { liveChain, type Turn, turnsOf } from '../../daemon/transcripts/read-back.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures/transcripts')

/** Folders of recordings by the harness that made them. */
const HARNESS: Record<string, string> = {
  'claude-code-2.1.325': 'claude-code',
  'claude-code-older': 'claude-code',
  'codex-0.166.0': 'codex',
  'gemini-cli-0.61.0': 'gemini',
  pi: 'pi',
}

export type Recording = { client: string; harness: string; scenario: string; path: string }

/** Every transcript among the fixtures, as a root of its harness would show it. */
export function recordings(): Recording[] {
  return Object.entries(HARNESS).flatMap(([client, harness]) =>
    readdirSync(join(FIXTURES, client)).flatMap((scenario) =>
      filesUnder(join(FIXTURES, client, scenario))
        .filter((path) => adapterFor(harness).isTranscript(path))
        .map((path) => ({ client, harness, scenario, path })),
    ),
  )
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

export function recorded(client: string, scenario: string, path: string): string {
  return readFileSync(join(FIXTURES, client, scenario, path), 'utf8')
}

/** Byte 0x0A alone ends a line: U+2028 stands raw in some. */
export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** As the reader of files does it: a message without an id is known by its place. */
export function factsOf(harness: string, text: string): Fact[] {
  return linesOf(text).flatMap((line, at) =>
    adapterFor(harness)
      .read(line)
      .map((fact) => (fact.kind === 'message' ? { id: `#${at}`, ...fact } : fact)),
  )
}

export type Telling = {
  session: Session
  /** Of each turn how it went, and what was said and done in it. */
  turns: string[][]
  /** What was said in no turn. */
  outside?: string[]
  usage: string
  compacted?: string[]
  unknown?: string[]
}

export function tell(harness: string, text: string, of: { path?: string; subAgent?: string } = {}): Telling {
  const facts = factsOf(harness, text)
  const { sessionId, subAgent } = adapterFor(harness).describe(of.path ?? '')
  const known = present<Session>({ sessionId, subAgent })
  const session = facts.reduce<Session>((so, fact) => (fact.kind === 'session' ? learn(so, fact) : so), known)
  const chain = liveChain(facts, { session: known, ...(of.subAgent ? { subAgent: of.subAgent } : {}) })
  const turns = turnsOf(chain)
  const inTurns = new Set(turns.flatMap(({ messageIds }) => messageIds))
  return {
    session,
    turns: turns.map((turn) => [headline(turn), ...told(turn, chain)]),
    ...some('outside', chain.filter(({ id }) => !inTurns.has(id ?? '')).flatMap(lines)),
    usage: used(usageOf(chain)),
    ...some(
      'compacted',
      facts.flatMap((fact) => (fact.kind === 'compacted' ? [fact.trigger ?? 'unsaid'] : [])),
    ),
    ...some(
      'unknown',
      facts.flatMap((fact) => (fact.kind === 'unknown' ? [fact.type] : [])),
    ),
  }
}

function some<K extends string>(key: K, values: string[]): { [P in K]?: string[] } {
  return values.length > 0 ? ({ [key]: values } as { [P in K]: string[] }) : {}
}

function headline({ end, startedAt, endedAt, toolCalls, usage, cwd }: Turn): string {
  const calls = toolCalls.length > 0 ? `, ${toolCalls.length} calls` : ''
  return `${end} ${clock(startedAt)} ${clock(endedAt)}${calls}, ${used(usage)}${cwd ? `, ${cwd}` : ''}`
}

function told({ startedBy, prompt, messageIds }: Turn, chain: readonly Message[]): string[] {
  const [, ...rest] = messageIds
  return [`${startedBy}: ${prompt}`, ...chain.filter(({ id }) => rest.includes(id ?? '')).flatMap(lines)]
}

function lines({ by, text, toolCalls, toolResults }: Message): string[] {
  return [
    ...(text === '' ? [] : [`${by}: ${text}`]),
    ...toolCalls.map(({ name, input }) => `${by} calls ${name}: ${input}`),
    ...toolResults.map((result) => `${by}: ${result.text}`),
  ]
}

function clock(at: number | undefined): string {
  return at === undefined ? '…' : new Date(at).toISOString().slice(11, 23)
}

function used({ input, output, cacheRead, cacheWrite }: Usage): string {
  return `${input} in ${output} out${cacheRead + cacheWrite > 0 ? ` ${cacheRead} read ${cacheWrite} written` : ''}`
}
