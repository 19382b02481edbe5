/** Whether a process is there, and still the same one. */
import { existsSync, readFileSync } from 'node:fs'
import { isAlive as answersToSignals } from './held-file.ts'

export type Processes = {
  /** What tells a process from a later one of the same number; undefined where there is none, or the system does not say. */
  birthOf(pid: number): string | undefined
  isAlive(pid: number, born?: string): boolean
}

/** Where the system tells of its processes as files. */
const PROC = '/proc'
/** Counted from the state, which follows the name. */
const STARTED = 19

export function createProcesses(): Processes {
  const told = existsSync(`${PROC}/self/stat`)
  return {
    birthOf: (pid) => statOf(pid)?.started,
    isAlive: (pid, born) => {
      if (!told) return answersToSignals(pid)
      const stat = statOf(pid)
      // What has ended and was not collected yet is as good as gone.
      return stat !== undefined && !'ZX'.includes(stat.state) && (born === undefined || born === stat.started)
    },
  }
}

function statOf(pid: number): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`${PROC}/${pid}/stat`, 'utf8')
    // A program may have any name, also one with spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, started] = [fields[0], fields[STARTED]]
    return state === undefined || started === undefined ? undefined : { state, started }
  } catch {
    return undefined
  }
}
