/** The commands that show how the daemon does: status, cost and logs. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import pc from 'picocolors'
import { MemoryError } from '../../schema/errors.ts'
import type { CostList } from '../../schema/job.ts'
import { formatLogLine, LOG_FILES, logLevelOf, logLevels } from '../../schema/log-line.ts'
import type { Status } from '../../schema/process.ts'
import { asked, asUser, type Context, columns, harmless, inOneLine } from './context.ts'
import { modeLine } from './daemon.ts'

export async function status({ connect, places, print, self, typed }: Context): Promise<void> {
  const client = connect({ socket: places.socketPath, strict: true })
  const now = await client.status().finally(client.close)
  print.result(now, () => [
    `memoryd ${now.version} is ${now.state} (pid ${now.pid}, since ${now.startedAt})`,
    ...columns([
      ['mode', modeLine(now.mode)],
      ['budget', budgetLine(now.budget)],
      ['socket', now.socket],
      ['state', now.stateDir],
      ['config', now.configFile],
      ['projects', projectsLine(now.projects)],
      ...now.roots
        .filter(({ state }) => state !== 'missing')
        .map(({ path, harness, state }): [string, string] => ['transcripts', `${path} (${harness}, ${state})`]),
      ['to read', `${now.ingest.lagBytes} bytes of transcripts`],
      ['skipped', skippedLine(now.ingest.skipped)],
      ['jobs', jobsLine(now.jobs)],
      ['harnesses', harnessesLine(now.harnesses) ?? `none connected; ${self} connect <harness>`],
      ['paused', now.paused.all ? 'everywhere' : now.paused.projects.join(', ') || 'nowhere'],
    ]),
    ...now.reasons.map(({ code, message, since }) => `degraded since ${since}: ${code}: ${typed(message)}`),
    ...now.errors.slice(0, 5).map(({ at, message }) => `${at} ${message}`),
  ])
}

function projectsLine(projects: Status['projects']): string {
  const sharing = projects.filter(({ sharedWith }) => sharedWith).map(({ root }) => root)
  const count = `${projects.length} with memories`
  return sharing.length === 0 ? count : `${count}; these share a directory: ${sharing.join(', ')}`
}

function harnessesLine(harnesses: Status['harnesses']): string | undefined {
  const known = harnesses
    .filter(({ connected, lastHookAt }) => connected || lastHookAt !== undefined)
    .map(({ name, connected, lastHookAt }) => {
      const last = lastHookAt === undefined ? 'no hook seen yet' : `last hook ${lastHookAt}`
      return `${name} (${connected ? '' : 'not connected, '}${last})`
    })
  return known.length > 0 ? known.join(', ') : undefined
}

function jobsLine({ queued, waiting, running, failed }: Status['jobs']): string {
  return `${running} running, ${queued} queued, ${waiting} waiting${failed > 0 ? `, ${failed} given up` : ''}`
}

function budgetLine({ usd, capUsd, tokens, capTokens }: Status['budget']): string {
  if (capUsd === 0 || capTokens === 0) return 'none: no model is called'
  const used = usd >= capUsd || tokens >= capTokens ? '; used up until tomorrow' : ''
  return `$${usd.toFixed(2)} of $${capUsd.toFixed(2)} and ${tokens} of ${capTokens} uncached tokens today${used}`
}

function skippedLine(skipped: Record<string, number>): string {
  const reasons = Object.entries(skipped).map(([reason, count]) => `${count} ${reason}`)
  return reasons.length > 0 ? `lines of transcripts: ${reasons.join(', ')}` : 'no line of a transcript'
}

type CostOptions = { by?: 'day' | 'project' | 'job'; days?: number }

type Item = CostList['items'][number]

const BAR_CHARACTERS = 24

export async function cost(context: Context, { by = 'day', days = 30 }: CostOptions): Promise<void> {
  const found = await asUser(context, (client) => client.cost({ by, days: asked(days) }))
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(found, () => {
    const { items, today, unpriced } = found
    const bars = context.print.colour === 'on' && by === 'day' ? barsOf(items) : []
    return [
      ...table([[by, 'dollars', 'tokens in / out', 'from cache', 'calls'], ...items.map(cellsOf)]).map((line, n) => {
        if (n === 0) return paint.dim(line)
        const bar = bars[n - 1]
        return bar ? `${line}  ${paint.cyan(bar)}` : line
      }),
      ...(items.length === 0 ? ['no model was called'] : []),
      `today ${dollars(today.usd)} of ${dollars(today.capUsd)}, ${short(today.tokens)} of ${short(today.capTokens)} uncached tokens`,
      ...(unpriced.length > 0
        ? [`no price is known for ${unpriced.join(', ')}: only tokens are counted; set "models" in the configuration`]
        : []),
    ]
  })
}

function barsOf(items: readonly Item[]): string[] {
  const most = Math.max(...items.map(({ usd }) => usd))
  if (most === 0) return []
  return items.map(({ usd }) => (usd === 0 ? '' : '█'.repeat(Math.max(1, Math.round((usd / most) * BAR_CHARACTERS)))))
}

function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join('  '),
  )
}

/** A tenth of a cent must not look like nothing. */
function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toFixed(4)}`
}

function cellsOf({ key, usd, input, cacheRead, cacheWrite, output, hitPercent, calls, unsettled }: Item): string[] {
  return [
    key === '' ? '(no project)' : inOneLine(key),
    dollars(usd),
    `${short(input + cacheRead + cacheWrite)} / ${short(output)}`,
    hitPercent === null ? '-' : `${hitPercent.toFixed(0)} %`,
    unsettled > 0 ? `${calls} (${unsettled} open)` : String(calls),
  ]
}

function short(count: number): string {
  if (count < 10_000) return String(count)
  return count < 10_000_000 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1)}M`
}

type LogsOptions = { follow?: boolean; lines: number; level?: keyof typeof logLevels }

const LOOK_EVERY_MS = 200

export function logs({ places, print, self }: Context, { follow, lines, level }: LogsOptions): void {
  const file = places.logFile
  if (!existsSync(file))
    throw new MemoryError('NOT_FOUND', `there is no log at ${file} yet`, { hint: `run: ${self} start` })
  const { colour, form } = print
  const isShown = (line: string) => line !== '' && logLevelOf(line) >= logLevels[level ?? 'debug']
  const show = (shown: string[]) => {
    for (const line of shown.filter(isShown))
      process.stdout.write(harmless(`${form === 'json' ? line : formatLogLine(line, { colour })}\n`, colour))
  }
  const rotated = Array.from({ length: LOG_FILES - 1 }, (_, n) => `${file}.${n + 1}`)
  const old = rotated.filter((path) => existsSync(path)).reverse()
  const fd = openSync(file, 'r')
  const newest = readFileSync(fd)
  const text = [...old.map((path) => readFileSync(path, 'utf8')), newest.toString()].join('')
  show(text.split('\n').filter(isShown).slice(-lines))
  if (follow) setInterval(logFollower(file, rotated, { fd, offset: newest.length }, show), LOOK_EVERY_MS)
  else closeSync(fd)
}

type Open = { fd: number; offset: number }

/** Holds the file open, so that what was written to it before it was rotated away is shown as well. */
function logFollower(file: string, rotated: string[], begin: Open, show: (lines: string[]) => void): () => void {
  let open = begin
  let torn = ''
  const drain = () => {
    const { size } = fstatSync(open.fd)
    const lines = (torn + readRange(open.fd, open.offset, size)).split('\n')
    torn = lines.pop() ?? ''
    open.offset = Math.max(size, open.offset)
    show(lines)
  }
  /** One file further, if the one that is open has been rotated away; they may have been rotated more than once. */
  const step = (): 'stayed' | 'moved' => {
    const own = fstatSync(open.fd).ino
    if (inodeOf(file) === own) return 'stayed'
    // What was written to it after the last look, before it was rotated away.
    drain()
    const place = rotated.findIndex((path) => inodeOf(path) === own)
    const next = place > 0 ? rotated[place - 1] : place === 0 ? file : (rotated.findLast(existsSync) ?? file)
    const fd = openIfThere(next ?? file)
    if (fd === undefined) return 'stayed'
    // Rotated once more meanwhile: the names stand for other files by now, and the next look finds out.
    const isStale = place >= 0 && inodeOf(rotated[place] ?? '') !== own
    closeSync(isStale ? fd : open.fd)
    if (isStale) return 'stayed'
    open = { fd, offset: 0 }
    drain()
    return 'moved'
  }
  return () => {
    drain()
    while (step() === 'moved');
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}

function readRange(fd: number, from: number, to: number): string {
  if (to <= from) return ''
  const bytes = Buffer.alloc(to - from)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, from))
}
