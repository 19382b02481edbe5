/**
 * Puts the two ends of a conversation on one core. They take turns anyway, and waking a sleeping core costs more than
 * what is measured here, differently each time: without this, single rounds come out anywhere between half and double.
 * Only main threads: those in which V8 compiles and collects beside them keep the cores they had.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Does nothing where the system cannot: then the spread of the rounds tells. The bench itself is moved, too. */
export function shareOneCore(pids: readonly number[]): { release(): void } {
  const allowed = allowedCores()
  // The last one: the first usually serves the machine's interrupts.
  const core = allowed?.match(/\d+$/)?.[0]
  if (allowed === undefined || core === undefined) return { release: () => {} }
  for (const pid of [...pids, process.pid]) move(pid, core)
  return { release: () => move(process.pid, allowed) }
}

function move(pid: number, cores: string): void {
  execFileSync('taskset', ['--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' })
}

function allowedCores(): string | undefined {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' })
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  } catch {
    return undefined
  }
}
