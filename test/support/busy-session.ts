/** A long session in the form of the Messages API in which a lot is asked for, changed, tried in vain and left open. The same each time. */
import type { Block, Message } from '../../daemon/context/messages.ts'
import { messagesOfTranscript } from '../../daemon/context/transcript.ts'
import { longSession } from './long-session.ts'

export function busySession(turns: number): Message[] {
  return longSession(turns).flatMap((said, turn) => {
    const plain = messagesOfTranscript(said)
    const did: [string, string, Record<string, unknown>, Partial<Block>][] = []
    if (turn % 3 === 0)
      did.push([
        `edit-${turn}`,
        'Edit',
        { file_path: `/repo/src/area-${turn % 7}/module-${turn}.ts` },
        { content: 'done' },
      ])
    if (turn % 5 === 0)
      did.push([
        `fail-${turn}`,
        'Bash',
        { command: `npm run verify:${turn} -- --strict` },
        { content: 'Exit code 1', is_error: true },
      ])
    if (turn % 4 === 0) did.push([`todo-${turn}`, 'TodoWrite', { todos: todosAt(turn) }, { content: 'noted' }])
    const more = did.flatMap(([id, name, input, result], n): Message[] => [
      { id: `t${turn}-x${n}`, role: 'assistant', content: [{ type: 'tool_use', id, name, input }] },
      { id: `t${turn}-y${n}`, role: 'user', content: [{ type: 'tool_result', tool_use_id: id, ...result }] },
    ])
    return [...plain.slice(0, -1), ...more, ...plain.slice(-1)]
  })
}

function todosAt(turn: number) {
  return [
    { content: `finish what was begun in turn ${turn}`, status: 'in_progress' },
    { content: `document turn ${turn - 1}`, status: 'pending' },
    { content: `look back at turn ${turn - 2}`, status: 'completed' },
  ]
}
