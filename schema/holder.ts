/** The small file in the state folder that tells who runs: written by the daemon, read by the command. Pure. */

export const HOLDER_FILE = 'daemon.json'

export type Holder = { pid: number; version: string; socket: string; startedAt: string }

/** Nothing for anything that is not ours: a torn or foreign file tells nothing. */
export function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, version, socket, startedAt } = JSON.parse(text) as Partial<Holder>
    const valid = Number.isInteger(pid) && (pid as number) > 0 && [version, socket, startedAt].every(isString)
    return valid ? ({ pid, version, socket, startedAt } as Holder) : undefined
  } catch {
    return undefined
  }
}

function isString(value: unknown): value is string {
  return typeof value === 'string'
}
