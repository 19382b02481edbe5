/**
 * Messages as a harness pushes them → lines of the generic form, as they are kept: nothing private, nothing injected and no
 * credential is left in them. Opens no file.
 */
import { stampAt } from '../platform/text.ts'
import { clean, cleanName } from './clean.ts'
import { present } from './formats/fields.ts'
import type { Fact, Message, SessionFact } from './formats/format.ts'
import { generic } from './formats/generic.ts'

export type PushedTurn = { turnId: string; messages: readonly object[]; atMs: number }

/** The line that says that all of a turn is there. */
export function endIdOf(turnId: string): string {
  return `${turnId}.end`
}

export async function pushedLines({ turnId, messages, atMs }: PushedTurn): Promise<string[]> {
  const records: object[] = []
  let aborted = false
  for (const [n, message] of messages.entries())
    for (const fact of generic.read(JSON.stringify(message))) {
      if (fact.kind === 'message' && fact.ends) aborted = fact.ends === 'aborted'
      records.push(...(await recordsOf(fact, { id: `${turnId}.${n + 1}`, atMs })))
    }
  const id = endIdOf(turnId)
  records.push({ type: 'end', id, at: atMs, ...(aborted && { end: 'aborted' }) })
  return records.map((record) => JSON.stringify(record))
}

type Defaults = { id: string; atMs: number }

async function recordsOf(fact: Fact, defaults: Defaults): Promise<object[]> {
  switch (fact.kind) {
    case 'message':
      return messageRecords(fact, defaults)
    case 'session':
      return [await sessionRecord(fact)]
    case 'compacted':
      return [present({ type: 'compaction', trigger: fact.trigger, at: fact.at ?? defaults.atMs })]
    case 'rewound':
      return [{ type: 'rewind', ...('from' in fact ? { from: await cleanName(fact.from) } : { turns: fact.turns }) }]
  }
  return []
}

/** Which session it is, and where, whoever pushes has said elsewhere. */
async function sessionRecord({ branch, model, interactive, forkOf }: SessionFact): Promise<object> {
  const named = async (name: string | undefined) => (name === undefined ? undefined : cleanName(name))
  return present({
    type: 'session',
    branch: await named(branch),
    model: await named(model),
    forkOf: await named(forkOf),
    interactive,
  })
}

/** With its zone, where it has one: what "tomorrow" means depends on it. */
function timeOf({ at, minutesEast }: Message): number | string | undefined {
  return at === undefined || minutesEast === undefined ? at : stampAt(at, minutesEast)
}

async function messageRecords(message: Message, defaults: Defaults): Promise<object[]> {
  const type = typeOf(message)
  if (!type) return []
  const named = async (name: string | undefined) => (name === undefined ? undefined : cleanName(name))
  const id = (await named(message.id)) ?? defaults.id
  const parentId = message.parentId === null ? null : await named(message.parentId)
  const common = present({
    type,
    id,
    parentId,
    at: timeOf(message) ?? defaults.atMs,
    subAgent: await named(message.subAgent),
  })
  if (type === 'tool') {
    const records: { id: string; callId: string; text: string }[] = []
    for (const [n, { callId, text }] of message.toolResults.entries())
      records.push({
        ...common,
        id: n > 0 ? `${id}.${n + 1}` : id,
        ...(n > 0 && parentId !== undefined && { parentId: records.at(-1)?.id }),
        callId: await cleanName(callId),
        text: await clean(text),
      })
    return records
  }
  const toolCalls = []
  for (const { id: callId, name, input } of message.toolCalls)
    toolCalls.push({
      id: await cleanName(callId),
      name: await cleanName(name),
      input: await clean(input),
    })
  const { ends } = message
  return [
    present({
      ...common,
      text: message.text === '' ? undefined : await clean(message.text),
      toolCalls: toolCalls.length > 0 ? toolCalls : undefined,
      answerId: type === 'assistant' ? await named(message.answerId) : undefined,
      model: await named(message.model),
      usage: message.usage,
      end: ends === 'final' || ends === 'aborted' ? ends : undefined,
    }),
  ]
}

/** What a harness notes for itself, and ends, are told otherwise. */
function typeOf({ by, startsTurn }: Message): string | undefined {
  if (startsTurn) return 'user'
  return { person: 'user', agent: 'assistant', tool: 'tool', injected: 'context', system: undefined }[by]
}
