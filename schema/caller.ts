/** Who calls, told in two headers: its name, and the variables that memory depends on, as JSON in ASCII. */
export const ENV_HEADER = 'x-memoryd-env'
export const ACTOR_HEADER = 'x-memoryd-actor'

export const callerVariables = [
  'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE',
  'CLAUDE_CODE_DISABLE_AUTO_MEMORY',
  'CLAUDE_CODE_SIMPLE',
  'CLAUDE_CODE_REMOTE',
  'CLAUDE_CODE_REMOTE_MEMORY_DIR',
  'CLAUDE_CONFIG_DIR',
  'CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES',
  'MEMORYD_CONTEXT_WINDOW',
  'CLAUDE_AUTOCOMPACT_PCT_OVERRIDE',
  'DISABLE_COMPACT',
  'DISABLE_AUTO_COMPACT',
] as const

export const GUIDELINES = 'CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES'
/** How much of a user's own guidelines goes into a prompt. */
export const GUIDELINES_CHARS = 8_000

type Variables = Record<string, string | undefined>

export function encodeVariables(env: Variables): string {
  // A header that is too large loses the whole request. One character more than is used tells that it was cut.
  const sent: Variables = { ...env, [GUIDELINES]: env[GUIDELINES]?.slice(0, GUIDELINES_CHARS + 1) }
  const text = JSON.stringify(Object.fromEntries(callerVariables.map((name) => [name, sent[name]])))
  return text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Undefined for a header of another form; names outside the list are dropped. */
export function decodeVariables(header: string): Variables | undefined {
  try {
    const value: unknown = JSON.parse(header)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const entries = Object.entries(value).filter(([name]) => (callerVariables as readonly string[]).includes(name))
    return entries.every(([, text]) => typeof text === 'string') ? Object.fromEntries(entries) : undefined
  } catch {
    return undefined
  }
}

/** `user` is the command line, `agent:<who>` everything else. */
export function isActor(text: string): boolean {
  return text === 'user' || /^agent:[A-Za-z0-9._-]{1,64}$/.test(text)
}

export type Caller = { actor: string; env: Variables }
