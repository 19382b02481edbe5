/** The environment variables that decide about the memory directory. Pure. */
import { callerVariables } from '../../schema/caller.ts'
import type { Environment } from '../../schema/rendezvous.ts'

export type Variables = Partial<Record<(typeof callerVariables)[number], string>>

/** Variable by variable the caller's value, else the daemon's own. An empty one counts as unset, as shells treat it. */
export function mergeVariables(own: Environment, caller: Environment = {}): Variables {
  const merged: Variables = {}
  for (const name of callerVariables) {
    const value = [caller[name], own[name]].find((one) => typeof one === 'string' && one !== '')
    if (value !== undefined) merged[name] = value
  }
  return merged
}
