/** What a process holds and has used, as the kernel tells it. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

export type Usage = { rssBytes: number; cpuMs: number }

/** The kernel counts in ticks of this length for everyone who reads /proc, whatever its own clock. */
const TICK_MS = 10

export function usageOf(pid: number): Usage {
  return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid)
}

/** Both files sum over all threads, those that have ended included. */
function fromProc(pid: number): Usage {
  const rssKb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the program's name, which may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [userTicks, systemTicks] = fields.slice(11, 13).map(Number) as [number, number]
  return { rssBytes: Number(rssKb) * 1024, cpuMs: (userTicks + systemTicks) * TICK_MS }
}

function fromPs(pid: number): Usage {
  const [rssKb = '', time = ''] = execFileSync('ps', ['-o', 'rss=,time=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
  return { rssBytes: Number(rssKb) * 1024, cpuMs: parsePsTimeMs(time) }
}

/** `[days-][hours:]minutes:seconds[.hundredths]` */
function parsePsTimeMs(time: string): number {
  const [days, rest] = time.includes('-') ? (time.split('-') as [string, string]) : ['0', time]
  const seconds = rest.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return (Number(days) * 86_400 + seconds) * 1000
}
