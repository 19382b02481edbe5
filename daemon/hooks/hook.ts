/** What a hook of any harness comes down to, and what each harness has to say about its own. Types, and reading fields. */

export type Fields = Readonly<Record<string, unknown>>

export type SessionName = { harness: string; sessionId: string }

export type HookEvent =
  /** `cleared` and `compacted`: what the session was told before is gone. */
  | { event: 'session-start'; how: 'begun' | 'resumed' | 'cleared' | 'compacted' }
  /** `by`: a sub-agent asks, or something that happened; nobody waits for memories then. */
  | { event: 'prompt'; prompt: string; by: 'person' | 'other' }
  | { event: 'tool-used' }
  | { event: 'turn-end' }
  | { event: 'before-compaction' }
  | { event: 'session-end' }

export type Hook = HookEvent & {
  sessionId: string
  cwd: string
  /** Where the harness writes what happened: that of a sub-agent, if it is about one. */
  transcriptPath: string | undefined
  /** Not the agent whose session it is, but one that it sent. */
  bySubAgent: boolean
}

export type Harness = {
  name: string
  /** Which event it is; nothing for those that are none of ours. */
  eventOf(input: Fields): HookEvent | undefined
  /** What to print so that the model is told the text; nothing where the harness would not tell it. */
  print(hook: Hook, input: Fields, text: string): string | undefined
  /** Whether it puts the index of the memories before its model by itself. */
  index: 'own' | 'ours'
  /** More than so many UTF-16 units it cuts, or shows a preview of. */
  capUnits: number
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const LONGEST_ID = 4_096

/** Lenient with all but what is used: clients drift from version to version. */
export function readHook(harness: Harness, input: Fields): Hook | undefined {
  const event = harness.eventOf(input)
  const sessionId = text(input.session_id)
  const cwd = text(input.cwd)
  if (!event || sessionId === '' || sessionId.length > LONGEST_ID || !isPath(cwd)) return undefined
  const path = text(input.agent_transcript_path) || text(input.transcript_path)
  return {
    ...event,
    sessionId,
    cwd,
    transcriptPath: isPath(path) ? path : undefined,
    bySubAgent: text(input.agent_id) !== '',
  }
}

function isPath(path: string): boolean {
  return path.startsWith('/') && !path.includes('\0')
}
