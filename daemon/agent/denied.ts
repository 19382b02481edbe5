/** What a model is told when something is not for it, or did not work. Pure. */

/** Not allowed. Counted and logged. `astray`: a change of what is not a memory, which no task can have asked for. */
export type Denied = { denied: string; astray?: true }
/** Allowed, and it did not work: there is no such file, a pattern is broken. */
export type Failed = { failed: string }

/** What a tool has to say: a text, or why there is none. */
export type Output = string | Denied | Failed

export function isDenied(value: object): value is Denied {
  return 'denied' in value
}

export function isFailed(value: object): value is Failed {
  return 'failed' in value
}

/** A name as it is told back: a model may have put anything into it. */
export function quoted(text: string): string {
  const plain = text.replace(/[^\x20-\x7e\u00a0-\uffff]/g, '\ufffd')
  return JSON.stringify(plain.length > 200 ? `${plain.slice(0, 200)}…` : plain)
}
