/** The smallest lines of every harness that tell something, for what has to hold for all of them. */

type Said = { id: string; after: string | null; text: string }

export type Sample = {
  harness: string
  /** The first lines of a session that runs in /work. */
  begin: string[]
  asks(said: Said): string
  /** The final answer of a turn, with its end where the harness marks one. */
  answers(said: Said): string[]
  /** What was injected, as lines that stand between what was said. */
  injects(said: Said): string[]
  /** The first lines of a sub-agent's transcript, and how it is asked. */
  subAgent: { begin: string[]; asks(said: Said): string }
  /** The first lines of a fork, which names its origin, `origin`; nothing where messages are copied instead. */
  fork?: string[]
  unknown: string
}

const AT = '2026-11-16T10:00:00.000Z'
const json = (value: unknown) => JSON.stringify(value)

const claude = (type: string, { id, after }: Said, more: object) =>
  json({ type, uuid: id, parentUuid: after, isSidechain: false, sessionId: 's', cwd: '/work', timestamp: AT, ...more })
const asked = (text: string) => ({ message: { role: 'user', content: text } })

const codex = (type: string, payload: object) => json({ timestamp: AT, type, payload })
const codexMessage = (role: string, { id, text }: Said, kind: string) =>
  codex('response_item', {
    type: 'message',
    role,
    id,
    content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
    internal_chat_message_metadata_passthrough: { content_item_kinds: [kind] },
  })
const codexMeta = (more: object) => codex('session_meta', { id: 's', session_id: 's', cwd: '/work', ...more })

const gemini = (type: string, { id, text }: Said, more: object = {}) =>
  json({ id, timestamp: AT, type, content: type === 'user' ? [{ text }] : text, ...more })
const geminiBegin = (more: object = {}) => json({ sessionId: 's', startTime: AT, kind: 'main', ...more })

const pi = ({ id, after }: Said, message: object) =>
  json({ type: 'message', id, parentId: after, timestamp: AT, message })

export const samples: Sample[] = [
  {
    harness: 'claude-code',
    begin: [json({ type: 'mode', mode: 'normal', sessionId: 's' })],
    asks: (said) => claude('user', said, asked(said.text)),
    answers: (said) => [
      claude('assistant', said, {
        message: { id: `m-${said.id}`, content: [{ type: 'text', text: said.text }], stop_reason: 'end_turn' },
      }),
    ],
    injects: (said) => [
      claude('attachment', said, { attachment: { type: 'hook_additional_context', content: [said.text] } }),
    ],
    subAgent: {
      begin: [],
      asks: (said) => claude('user', said, { ...asked(said.text), isSidechain: true, agentId: 'helper' }),
    },
    unknown: json({ type: 'never-seen', sessionId: 's' }),
  },
  {
    harness: 'codex',
    begin: [codexMeta({ source: 'cli' })],
    asks: (said) => codexMessage('user', said, 'user.text'),
    answers: (said) => [codexMessage('assistant', said, 'unknown'), codex('event_msg', { type: 'task_complete' })],
    injects: (said) => [codexMessage('developer', said, 'hooks.additional_context')],
    subAgent: {
      begin: [codexMeta({ id: 'helper', thread_source: 'subagent', parent_thread_id: 's' })],
      asks: (said) => codexMessage('user', said, 'user.text'),
    },
    fork: [codexMeta({ id: 'fork', history_base: { thread_id: 'origin', end_byte_offset: 10 } })],
    unknown: codex('never-seen', {}),
  },
  {
    harness: 'gemini',
    begin: [geminiBegin()],
    asks: (said) => gemini('user', said),
    answers: (said) => [gemini('gemini', said)],
    injects: (said) => [gemini('user', { ...said, text: `<hook_context>${said.text}</hook_context>` })],
    subAgent: { begin: [geminiBegin({ sessionId: 'helper', kind: 'subagent' })], asks: (said) => gemini('user', said) },
    unknown: json({ id: 'u', type: 'never-seen' }),
  },
  {
    harness: 'pi',
    begin: [json({ type: 'session', version: 3, id: 's', timestamp: AT, cwd: '/work' })],
    asks: (said) => pi(said, { role: 'user', content: said.text }),
    answers: (said) => [
      pi(said, { role: 'assistant', content: [{ type: 'text', text: said.text }], stopReason: 'stop' }),
    ],
    injects: ({ id, after, text }) => [json({ type: 'custom_message', id, parentId: after, content: text })],
    subAgent: { begin: [], asks: (said) => pi(said, { role: 'user', content: said.text }) },
    fork: [
      json({ type: 'session', id: 'fork', cwd: '/work', parentSession: '/home/me/sessions/--work--/t_origin.jsonl' }),
    ],
    unknown: json({ type: 'never-seen' }),
  },
  {
    harness: 'generic',
    begin: [json({ type: 'session', id: 's', cwd: '/work' })],
    asks: ({ id, after, text }) => json({ type: 'user', id, parentId: after, text, at: AT }),
    answers: ({ id, after, text }) => [json({ type: 'assistant', id, parentId: after, text, at: AT, end: 'final' })],
    injects: ({ id, after, text }) => [json({ type: 'context', id, parentId: after, text })],
    subAgent: {
      begin: [json({ type: 'session', id: 's', cwd: '/work', subAgent: 'helper' })],
      asks: ({ id, after, text }) => json({ type: 'user', id, parentId: after, text, at: AT }),
    },
    fork: [json({ type: 'session', id: 'fork', forkOf: 'origin', cwd: '/work' })],
    unknown: json({ type: 'never-seen' }),
  },
]

const ID = '01a1e1a9-b9ce-7163-a781-d563a8047d00'

/** Where a session stands below the root of each harness. */
export const harnessFiles: Record<string, string> = {
  'claude-code': `slug/${ID}.jsonl`,
  codex: `2026/11/16/rollout-2026-11-16T00-02-39-${ID}.jsonl`,
  gemini: `slug/chats/session-2026-11-16T00-02-${ID}.jsonl`,
  pi: `slug/2026-11-16_${ID}.jsonl`,
  generic: `${ID}.jsonl`,
}

type Turn = { cwd: string; injected: string; asked: string; answered: string }

/** A whole session of one turn, of today and in a folder. */
export function sessionOf({ begin, asks, answers, injects }: Sample, { cwd, injected, asked, answered }: Turn): string {
  const lines = [
    ...begin,
    ...injects({ id: 'i', after: null, text: injected }),
    asks({ id: 'q', after: null, text: asked }),
    ...answers({ id: 'a', after: 'q', text: answered }),
  ]
  const at = new Date().toISOString()
  return lines
    .map((line) => `${line.replaceAll('"/work"', JSON.stringify(cwd)).replaceAll(/2026-11-16T10:00:00[.\d]*Z/g, at)}\n`)
    .join('')
}
