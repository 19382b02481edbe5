/** What a process has had of the processor: says more than times do where others use the machine. */
import { readFileSync } from 'node:fs'

/** Of its main thread, so far; nothing where the system does not tell. */
export function cpuUs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return 0
  }
}
