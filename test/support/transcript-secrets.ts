/** Transcripts of every harness with a credential wherever one may stand in them. */
import type { SecretSample } from './secret-samples.ts'
import { freeStanding } from './secret-values.ts'

export type Told = { harness: string; name: string; lines: object[] }

/** Where it stands. A name or a folder has to be recognised by itself. */
type Spot = { name: string; fits?: (sample: SecretSample) => boolean }

const byItself = ({ kind, secret }: SecretSample) => kind in freeStanding && /^[\w.+=-]{12,200}$/.test(secret)

const spots = {
  question: {},
  answer: {},
  command: {},
  'file name': {},
  result: {},
  'the edge of a result': {},
  title: {},
  'message id': { fits: ({ text }) => text.length <= 500 },
  'session id': { fits: ({ text }) => text.length <= 500 },
  cwd: { fits: byItself },
  branch: { fits: ({ text }) => text.length <= 500 },
  model: { fits: ({ text }) => text.length <= 500 },
  'call id': { fits: ({ text }) => text.length <= 500 },
  'sub-agent': { fits: ({ text }) => text.length <= 500 },
} satisfies Record<string, Omit<Spot, 'name'>>
type SpotName = keyof typeof spots

export const spotNames = Object.keys(spots) as SpotName[]

export function fits(spot: SpotName, sample: SecretSample): boolean {
  const { fits: asks = () => true }: Omit<Spot, 'name'> = spots[spot]
  return asks(sample)
}

/** Its first half would be in the part that is indexed. */
function overTheEdge({ text, secret }: SecretSample): string {
  const at = text.indexOf(secret)
  const before = 'filler '.repeat(400).slice(0, Math.max(0, 2_000 - at - Math.ceil(secret.length / 2)))
  return before + text
}

type Parts = Record<Exclude<SpotName, 'the edge of a result'>, string>

function partsOf(spot: SpotName, sample: SecretSample, n: number, cwd: string): Parts {
  const plain: Parts = {
    question: `Where is it, number ${n}?`,
    answer: `Here is staging ${n}.`,
    command: 'ls',
    'file name': '/work/notes.md',
    result: 'nothing',
    title: 'A talk',
    'message id': `m${n}`,
    'session id': `s${n}`,
    cwd,
    branch: 'main',
    model: 'a-model',
    'call id': `t${n}`,
    'sub-agent': '',
  }
  if (spot === 'the edge of a result') return { ...plain, result: overTheEdge(sample) }
  if (spot === 'cwd') return { ...plain, cwd: `${cwd}/${sample.secret}` }
  return { ...plain, [spot]: sample.text }
}

type Form = (parts: Parts, n: number) => Omit<Told, 'harness'>

const AT = '2026-11-16T10:00:00.000Z'

const forms: Record<string, Form> = {
  'claude-code': (p, n) => {
    const common = {
      sessionId: p['session id'],
      cwd: p.cwd,
      gitBranch: p.branch,
      timestamp: AT,
      ...(p['sub-agent'] && { isSidechain: true, agentId: p['sub-agent'] }),
    }
    const call = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input })
    return {
      name: `-work/${n}.jsonl`,
      lines: [
        { type: 'summary', summary: p.title, leafUuid: 'x' },
        { type: 'custom-title', title: p.title, sessionId: p['session id'] },
        {
          type: 'user',
          uuid: p['message id'],
          parentUuid: null,
          ...common,
          message: { role: 'user', content: p.question },
        },
        {
          type: 'assistant',
          uuid: `a-${p['message id']}`,
          parentUuid: p['message id'],
          ...common,
          message: {
            id: `r-${p['message id']}`,
            model: p.model,
            content: [
              { type: 'text', text: p.answer },
              call(p['call id'], 'Bash', { command: p.command, description: p.command }),
              call('w', 'Write', { file_path: p['file name'], content: p.command }),
            ],
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        },
        {
          type: 'user',
          uuid: `t-${n}`,
          parentUuid: `a-${p['message id']}`,
          ...common,
          message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: p['call id'], content: p.result }] },
        },
      ],
    }
  },
  codex: (p, n) => {
    const item = (payload: object) => ({ timestamp: AT, type: 'response_item', payload })
    const sub = p['sub-agent'] && { thread_source: 'subagent', parent_thread_id: p['session id'] }
    return {
      name: `2026/11/16/rollout-${n}-${`${n}`.padStart(8, '0')}-0000-4000-8000-000000000000.jsonl`,
      lines: [
        {
          timestamp: AT,
          type: 'session_meta',
          payload: {
            id: p['sub-agent'] || p['session id'],
            cwd: p.cwd,
            git: { branch: p.branch },
            source: 'cli',
            ...(sub || {}),
          },
        },
        { timestamp: AT, type: 'turn_context', payload: { cwd: p.cwd, model: p.model } },
        { timestamp: AT, type: 'event_msg', payload: { type: 'thread_name_updated', name: p.title } },
        item({
          type: 'message',
          role: 'user',
          id: p['message id'],
          content: [{ type: 'input_text', text: p.question }],
        }),
        item({
          type: 'function_call',
          name: 'shell',
          call_id: p['call id'],
          arguments: JSON.stringify({ command: ['sh', p.command] }),
        }),
        item({
          type: 'function_call',
          name: 'write',
          call_id: 'w',
          arguments: JSON.stringify({ path: p['file name'] }),
        }),
        item({ type: 'function_call_output', call_id: p['call id'], output: p.result }),
        item({ type: 'message', role: 'assistant', id: `a${n}`, content: [{ type: 'output_text', text: p.answer }] }),
      ],
    }
  },
  gemini: (p, n) => ({
    name: `demo/chats/session-${n}.jsonl`,
    lines: [
      {
        sessionId: p['session id'],
        projectHash: 'x',
        startTime: AT,
        kind: p['sub-agent'] ? 'subagent' : 'main',
        summary: p.title,
      },
      { id: p['message id'], timestamp: AT, type: 'user', content: [{ text: p.question }] },
      {
        id: `a${n}`,
        timestamp: AT,
        type: 'gemini',
        content: p.answer,
        model: p.model,
        toolCalls: [
          { id: p['call id'], name: 'run_shell_command', args: { command: p.command } },
          { id: 'w', name: 'write_file', args: { file_path: p['file name'], dir: p.cwd } },
        ],
      },
      {
        id: `t${n}`,
        timestamp: AT,
        type: 'user',
        content: [{ functionResponse: { id: p['call id'], response: { output: p.result } } }],
      },
    ],
  }),
  pi: (p, n) => ({
    name: `--work--/t_${n}.jsonl`,
    lines: [
      { type: 'session', version: 3, id: p['session id'], timestamp: AT, cwd: p.cwd, name: p.title },
      { type: 'session_info', id: 'i', parentId: null, name: p.title },
      {
        type: 'message',
        id: p['message id'],
        parentId: null,
        timestamp: AT,
        message: { role: 'user', content: p.question },
      },
      {
        type: 'message',
        id: `a${n}`,
        parentId: p['message id'],
        timestamp: AT,
        message: {
          role: 'assistant',
          model: p.model,
          content: [
            { type: 'text', text: p.answer },
            { type: 'toolCall', id: p['call id'], name: 'bash', arguments: { command: p.command } },
            { type: 'toolCall', id: 'w', name: 'write', arguments: { path: p['file name'] } },
          ],
        },
      },
      {
        type: 'message',
        id: `t${n}`,
        parentId: `a${n}`,
        timestamp: AT,
        message: { role: 'toolResult', toolCallId: p['call id'], content: [{ type: 'text', text: p.result }] },
      },
    ],
  }),
  generic: (p, n) => ({
    name: `${n}.jsonl`,
    lines: [
      {
        type: 'session',
        id: p['session id'],
        cwd: p.cwd,
        branch: p.branch,
        model: p.model,
        title: p.title,
        forkOf: p.branch,
      },
      { type: 'user', id: p['message id'], text: p.question, subAgent: p['sub-agent'] || undefined },
      {
        type: 'assistant',
        id: `a${n}`,
        answerId: `r-${p['message id']}`,
        text: p.answer,
        model: p.model,
        toolCalls: [
          { id: p['call id'], name: 'bash', input: p.command },
          { id: 'w', name: 'write', input: { path: p['file name'] } },
        ],
      },
      { type: 'tool', callId: p['call id'], text: p.result },
      { type: 'rewind', from: p['message id'] },
      { type: 'end', id: `e-${p['message id']}` },
    ],
  }),
}

export const harnesses = Object.keys(forms)

export function transcriptWith(harness: string, spot: SpotName, sample: SecretSample, n: number, cwd: string): Told {
  return { harness, ...(forms[harness] as Form)(partsOf(spot, sample, n, cwd), n) }
}
