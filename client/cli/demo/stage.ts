/** A home for a few seconds: folders, a project, recorded sessions and a real daemon, all of which are gone afterwards. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPlaces, MAX_SOCKET_BYTES } from '../../../schema/rendezvous.ts'
import type { Context } from '../context.ts'
import { endDaemon, spawnDaemon } from '../daemon.ts'

/** For the name of the home and of the socket in it. */
const ROOM_BYTES = 30

export type Stage = Awaited<ReturnType<typeof openStage>>

export async function openStage(context: Context) {
  const isShort = Buffer.byteLength(tmpdir()) <= MAX_SOCKET_BYTES - ROOM_BYTES
  const home = mkdtempSync(join(isShort ? tmpdir() : '/tmp', 'mdemo-'))
  // Neither settings nor keys of the user: no model is asked.
  const env = { HOME: home, PATH: context.env.PATH, TZ: context.env.TZ, MEMORYD_SOCKET: join(home, 's.sock') }
  const places = findPlaces(env)
  const inside: Context = { ...context, env, places }
  const socket = places.socketPath
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  try {
    const cwd = join(home, 'shop')
    const folders = {
      codex: join(home, '.codex', 'sessions', '2026', '11', '17'),
      'claude-code': join(home, '.claude', 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-')),
    }
    for (const folder of [join(cwd, '.git'), dirname(places.configFile), ...Object.values(folders)])
      mkdirSync(folder, { recursive: true })
    writeFileSync(places.configFile, JSON.stringify({ notes: { initTokens: 1_000, updateTokens: 500, toolCalls: 0 } }))
    await spawnDaemon(inside)
    const client = context.connect({ socket, strict: true, actor: 'user', deadlineMs: 30_000 })
    return {
      cwd,
      socket,
      client,
      play: (session: Session, n: number) => {
        const { harness, id } = session
        const name = harness === 'codex' ? `rollout-2026-11-17T10-00-00-${id}.jsonl` : `${id}.jsonl`
        const records = harness === 'codex' ? codexRecords(session, n, cwd) : claudeRecords(session, n, cwd)
        appendFileSync(join(folders[harness], name), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
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

type Turn = { asks: string; ran?: { command: string; result: string }; says: string }
export type Session = { harness: 'claude-code' | 'codex'; id: string; title: string; turns: Turn[] }

const monday: Session = {
  harness: 'claude-code',
  id: 'd0000000-0000-4000-8000-000000000001',
  title: 'Monday, in Claude Code',
  turns: [
    {
      asks: 'From now on always run npm run lint before you commit.',
      ran: { command: 'npm run', result: 'lint\n  biome check' },
      says: 'Understood: lint first, then commit.',
    },
    {
      asks: 'Never deploy the shop from main, always from the release branch.',
      ran: { command: 'git branch --list', result: '* main\n  release' },
      says: 'Noted. Deploys go out from the release branch.',
    },
  ],
}

const tuesday: Session = {
  harness: 'codex',
  id: 'd0000000-0000-4000-8000-000000000002',
  title: 'Tuesday, in Codex',
  turns: [
    { asks: 'Remember that the staging database is wiped every night at 02:00.', says: 'I will keep that in mind.' },
  ],
}

const tasks = [
  'The cart shows a wrong total in src/cart.ts, find out why.',
  'Fix rounding in src/money.ts, the currency is EUR with 2 decimals.',
  'Now add a test for an empty cart in test/cart.test.ts.',
  'The total for order 4711 must be 129.90, check that.',
]
const listing = Array.from({ length: 150 }, (_, n) => `${n + 1}  const item${n} = cart.items[${n}] ?? emptyItem(${n})`)

const wednesday: Session = {
  harness: 'claude-code',
  id: 'd0000000-0000-4000-8000-000000000003',
  title: 'Wednesday, a long one in Claude Code',
  turns: Array.from({ length: 14 }, (_, n) => ({
    asks: tasks[n % tasks.length] as string,
    ran: { command: 'cat src/cart.ts', result: listing.join('\n') },
    says: `Step ${n + 1} is done: the total is right for the cases so far.`,
  })),
}

export const sessions = { monday, tuesday, wednesday }

const LAST = 3

function claudeRecords({ id, turns }: Session, n: number, cwd: string): object[] {
  const { asks, ran, says } = turns[n] as Turn
  const atMs = Date.now()
  const record = (step: number, type: string, message: object, more: object = {}) => ({
    type,
    uuid: `${id}-${n}-${step}`,
    parentUuid: step > 0 ? `${id}-${n}-${step - 1}` : n > 0 ? `${id}-${n - 1}-${LAST}` : null,
    isSidechain: false,
    sessionId: id,
    cwd,
    timestamp: new Date(atMs + step).toISOString(),
    ...more,
    message: { role: type, ...message },
  })
  const answer = (step: number, block: object, stop_reason: string) =>
    record(step, 'assistant', { id: `m-${id}-${n}-${step}`, model: 'recorded', content: [block], stop_reason })
  const use = { type: 'tool_use', id: `t-${n}`, name: 'Bash', input: { command: ran?.command } }
  const result = { type: 'tool_result', tool_use_id: use.id, content: ran?.result }
  return [
    record(0, 'user', { content: asks }, { origin: { kind: 'human' }, promptSource: 'typed' }),
    answer(1, use, 'tool_use'),
    record(2, 'user', { content: [result] }, { toolUseResult: {} }),
    answer(LAST, { type: 'text', text: says }, 'end_turn'),
  ]
}

function codexRecords({ id, turns }: Session, n: number, cwd: string): object[] {
  const { asks, says } = turns[n] as Turn
  const timestamp = new Date().toISOString()
  const record = (type: string, payload: object) => ({ timestamp, type, payload })
  const message = (role: string, type: string, text: string) =>
    record('response_item', {
      type: 'message',
      role,
      id: `${id}-${n}-${role}`,
      content: [{ type, text }],
      internal_chat_message_metadata_passthrough: { content_item_kinds: [`${role}.text`] },
    })
  return [
    ...(n === 0 ? [record('session_meta', { id, session_id: id, cwd, source: 'cli' })] : []),
    message('user', 'input_text', asks),
    message('assistant', 'output_text', says),
    record('event_msg', { type: 'task_complete', turn_id: `${id}-${n}` }),
  ]
}
