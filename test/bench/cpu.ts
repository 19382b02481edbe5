/** What a process has had of the processor: says more than times do where others use the machine. */
import { readFileSync } from 'node:fs'

/** Of its main thread, so far; nothing where the system does not tell. */
export function cpuUs(pid: number): number {
  return schedulingUs(pid, 0)
}

/** For how long its main thread could have run, and others had the processor. */
export function starvedUs(pid: number): number {
  return schedulingUs(pid, 1)
}

function schedulingUs(pid: number, field: 0 | 1): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[field]) / 1_000
  } catch {
    return 0
  }
}
