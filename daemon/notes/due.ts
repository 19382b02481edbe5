/** Decides whether the notes of a session are to be written. Does no I/O. */

export type Thresholds = {
  /** Tokens in context at which notes are written first. */
  initTokens: number
  /** By so many they must have grown since, always. */
  updateTokens: number
  /** And so many tools must have been called since, unless the last turn called none. */
  toolCalls: number
}

export type Course = {
  tokens: number
  /** What they have to have grown from; nothing where there are no notes yet. */
  since: { tokens: number; toolCalls: number } | undefined
  lastTurnToolCalls: number
}

export type Verdict = { due: 'first' | 'again' } | { skip: string }

export function dueNow({ tokens, since, lastTurnToolCalls }: Course, at: Thresholds): Verdict {
  if (!since) return tokens >= at.initTokens ? { due: 'first' } : { skip: 'there is too little in it yet' }
  if (tokens - since.tokens < at.updateTokens) return { skip: 'too little was said since' }
  const isPause = lastTurnToolCalls === 0
  return since.toolCalls >= at.toolCalls || isPause ? { due: 'again' } : { skip: 'the agent is in the middle of it' }
}
