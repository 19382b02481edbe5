/** Turns in the form in which each harness writes them. Pure. */
import type { Session, Turn } from './history.ts'

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
