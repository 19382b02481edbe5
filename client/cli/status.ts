/** `memoryd status`. */
import type { StrictClient } from '../client.ts'
import { type Context, columns } from './context.ts'
import { modeLine } from './start.ts'

type Status = Awaited<ReturnType<StrictClient['status']>>
type Jobs = Status['jobs']

function projectsLine(projects: Status['projects']): string {
  const sharing = projects.filter(({ sharedWith }) => sharedWith).map(({ root }) => root)
  const count = `${projects.length} with memories`
  return sharing.length === 0 ? count : `${count}; these share a directory: ${sharing.join(', ')}`
}

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

function harnessesLine(harnesses: Status['harnesses']): string | undefined {
  const known = harnesses
    .filter(({ connected, lastHookAt }) => connected || lastHookAt !== undefined)
    .map(({ name, connected, lastHookAt }) => {
      const last = lastHookAt === undefined ? 'no hook seen yet' : `last hook ${lastHookAt}`
      return `${name} (${connected ? '' : 'not connected, '}${last})`
    })
  return known.length > 0 ? known.join(', ') : undefined
}

function jobsLine({ queued, waiting, running, failed }: Jobs): string {
  const given = failed > 0 ? `, ${failed} given up` : ''
  return `${running} running, ${queued} queued, ${waiting} waiting${given}`
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
