/** A home for a few seconds: folders, a project and a real daemon in it, all of which are gone afterwards. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPlaces, MAX_SOCKET_BYTES } from '../../../schema/rendezvous.ts'
import type { StrictClient } from '../../client.ts'
import type { Context } from '../context.ts'
import { endDaemon, spawnDaemon } from '../daemon.ts'

/** For the name of the home and of the socket in it. */
const ROOM_BYTES = 30

export type Stage = {
  home: string
  cwd: string
  socket: string
  client: StrictClient
  /** A harness writes down one turn. */
  play(session: Session, turn: number): void
  close(): Promise<void>
}

/** A socket has room for a hundred bytes. */
function shortFolder(folder: string): string {
  return Buffer.byteLength(folder) > MAX_SOCKET_BYTES - ROOM_BYTES ? '/tmp' : folder
}

export async function openStage(context: Context): Promise<Stage> {
  const home = mkdtempSync(join(shortFolder(tmpdir()), 'mdemo-'))
  // Nothing of the person's own: neither settings nor keys, and no model is asked.
  const env = { HOME: home, PATH: context.env.PATH, TZ: context.env.TZ, MEMORYD_SOCKET: join(home, 's.sock') }
  const places = findPlaces(env)
  const inside: Context = { ...context, env, places }
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  try {
    const cwd = join(home, 'shop')
    mkdirSync(join(cwd, '.git'), { recursive: true })
    mkdirSync(dirname(places.configFile), { recursive: true })
    writeFileSync(places.configFile, JSON.stringify({ notes: { initTokens: 1_000, updateTokens: 500, toolCalls: 0 } }))
    const slug = cwd.replace(/[^A-Za-z0-9]/g, '-')
    const fileOf = ({ harness, id }: Session) =>
      harness === 'codex'
        ? join(home, '.codex', 'sessions', '2026', '11', '17', `rollout-2026-11-17T10-00-00-${id}.jsonl`)
        : join(home, '.claude', 'projects', slug, `${id}.jsonl`)
    for (const harness of ['claude-code', 'codex'] as const)
      mkdirSync(dirname(fileOf({ harness, id: '', title: '', turns: [] })), { recursive: true })
    await spawnDaemon(inside)
    const client = context.connect({ socket: places.socketPath, strict: true, actor: 'user', deadlineMs: 30_000 })
    return {
      home,
      cwd,
      socket: places.socketPath,
      client,
      play: (session, turn) => {
        const lines = linesOf(session, turn, { cwd, atMs: Date.now() })
        appendFileSync(fileOf(session), `${lines.join('\n')}\n`)
      },
      close: async () => {
        client.close()
        await endDaemon(inside)
        remove()
      },
    }
  } catch (error) {
    await endDaemon(inside).catch(() => undefined)
    remove()
    throw error
  }
}

/** A history of three sessions, as two harnesses recorded it: who asked what, what was done, what was said. Data only. */

export type Turn = { asks: string; tool?: { name: string; input: string; result: string }; says: string }
export type Session = { harness: 'claude-code' | 'codex'; id: string; title: string; turns: Turn[] }

const listing = (name: string, lines: number) =>
  Array.from(
    { length: lines },
    (_, n) => `${name}:${n + 1}  const item${n} = cart.items[${n}] ?? emptyItem(${n})`,
  ).join('\n')

export const sessions: Session[] = [
  {
    harness: 'claude-code',
    id: 'd0000000-0000-4000-8000-000000000001',
    title: 'Monday, in Claude Code',
    turns: [
      {
        asks: 'From now on always run npm run lint before you commit.',
        says: 'Understood: lint first, then commit.',
      },
      {
        asks: 'Never deploy the shop from main, always from the release branch.',
        tool: { name: 'Bash', input: 'git branch --list', result: '* main\n  release' },
        says: 'Noted. Deploys go out from the release branch.',
      },
    ],
  },
  {
    harness: 'codex',
    id: 'd0000000-0000-4000-8000-000000000002',
    title: 'Tuesday, in Codex',
    turns: [
      {
        asks: 'Remember that the staging database is wiped every night at 02:00.',
        says: 'I will keep that in mind.',
      },
    ],
  },
  {
    harness: 'claude-code',
    id: 'd0000000-0000-4000-8000-000000000003',
    title: 'Wednesday, a long one in Claude Code',
    turns: Array.from({ length: 14 }, (_, n) => ({
      asks: [
        'The cart shows a wrong total in src/cart.ts, find out why.',
        'Fix rounding in src/money.ts, the currency is EUR with 2 decimals.',
        'Now add a test for an empty cart in test/cart.test.ts.',
        'The total for order 4711 must be 129.90, check that.',
      ][n % 4] as string,
      tool: {
        name: n % 2 === 0 ? 'Read' : 'Bash',
        input: n % 2 === 0 ? `src/cart.ts` : 'npm test -- cart',
        result: listing(n % 2 === 0 ? 'src/cart.ts' : 'test/cart.test.ts', 150),
      },
      says: `Step ${n + 1} is done: the total is right for the cases so far.`,
    })),
  },
]

/** Turns in the form in which each harness writes them. Pure. */

export type Place = { cwd: string; atMs: number }

/** The lines of one turn, which is the nth of its session. */
export function linesOf(session: Session, n: number, place: Place): string[] {
  const turn = session.turns[n] as Turn
  const records = session.harness === 'codex' ? codex(session, n, turn, place) : claude(session, n, turn, place)
  return records.map((record) => JSON.stringify(record))
}

function claude({ id }: Session, n: number, { asks, tool, says }: Turn, { cwd, atMs }: Place): object[] {
  const message = (step: number, type: string, content: unknown, more: object = {}) => ({
    type,
    uuid: `${id}-${n}-${step}`,
    parentUuid: step > 0 ? `${id}-${n}-${step - 1}` : n > 0 ? `${id}-${n - 1}-${LAST}` : null,
    isSidechain: false,
    sessionId: id,
    cwd,
    timestamp: new Date(atMs + step).toISOString(),
    ...more,
    message: { role: type, content, ...(more as { message?: object }).message },
  })
  const answer = (step: number, content: object[], stop_reason: string) =>
    message(step, 'assistant', content, { message: { id: `m-${id}-${n}-${step}`, model: 'recorded', stop_reason } })
  const person = { origin: { kind: 'human' }, promptSource: 'typed' }
  const call = tool && { type: 'tool_use', id: `t-${n}`, name: tool.name, input: inputOf(tool) }
  return [
    message(0, 'user', asks, person),
    answer(1, call ? [call] : [{ type: 'text', text: 'Let me see.' }], call ? 'tool_use' : 'pause_turn'),
    call
      ? message(2, 'user', [{ type: 'tool_result', tool_use_id: call.id, content: tool.result }], { toolUseResult: {} })
      : answer(2, [{ type: 'text', text: 'Yes.' }], 'pause_turn'),
    answer(LAST, [{ type: 'text', text: says }], 'end_turn'),
  ]
}

const LAST = 3

function inputOf({ name, input }: NonNullable<Turn['tool']>): object {
  return name === 'Read' ? { file_path: input } : { command: input }
}

function codex({ id }: Session, n: number, { asks, says }: Turn, { cwd, atMs }: Place): object[] {
  const timestamp = new Date(atMs).toISOString()
  const line = (type: string, payload: object) => ({ timestamp, type, payload })
  const said = (role: string, text: string, kind: string) =>
    line('response_item', {
      type: 'message',
      role,
      id: `${id}-${n}-${role}`,
      content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
      internal_chat_message_metadata_passthrough: { content_item_kinds: [kind] },
    })
  return [
    ...(n === 0 ? [line('session_meta', { id, session_id: id, cwd, source: 'cli' })] : []),
    said('user', asks, 'user.text'),
    said('assistant', says, 'assistant.text'),
    line('event_msg', { type: 'task_complete', turn_id: `${id}-${n}` }),
  ]
}
