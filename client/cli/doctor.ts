/** `memoryd doctor`: what is wrong, and what to do about it. */
import { existsSync } from 'node:fs'
import pc from 'picocolors'
import type { Finding } from '../../daemon/doctor/checks.ts'
import { exitCodes } from '../../schema/errors.ts'
import type { Context } from './context.ts'
import { version } from './installation.ts'
import { findService } from './service/service.ts'

const marks = { ok: pc.green('ok  '), warning: pc.yellow('warn'), problem: pc.red('FAIL') }

export async function doctor(context: Context, options: { restore?: string | true }): Promise<void> {
  if (options.restore !== undefined) return restore(context, options.restore)
  const { inspect } = await import('../../daemon/doctor/doctor.ts')
  const { places, env } = context
  const { hooksFinding } = await import('./connect/connections.ts')
  const found = [
    ...(await inspect({ places, env })),
    await daemonFinding(context),
    serviceFinding(context),
    hooksFinding(context),
  ]
  const findings = found.map((each) => ({ ...each, ...(each.remedy && { remedy: context.typed(each.remedy) }) }))
  const bad = findings.filter(({ state }) => state === 'problem').length
  const odd = findings.filter(({ state }) => state === 'warning').length
  context.print.result({ ok: bad === 0, findings }, () => [
    ...findings.flatMap(({ check, state, message, remedy }) => [
      `${marks[state]}  ${check}: ${message}`,
      ...(remedy ? [`      → ${remedy}`] : []),
    ]),
    verdict(bad, odd),
  ])
  if (bad > 0) process.exitCode = exitCodes.failed
}

function verdict(bad: number, odd: number): string {
  if (bad > 0) return `${bad} ${bad === 1 ? 'thing is' : 'things are'} wrong`
  if (odd > 0) return `nothing is broken; ${odd} ${odd === 1 ? 'thing deserves' : 'things deserve'} a look`
  return 'nothing is wrong'
}

async function restore({ places, print, self }: Context, chosen: string | true): Promise<void> {
  const { restoreHistory } = await import('../../daemon/doctor/doctor.ts')
  const done = restoreHistory(places, chosen === true ? undefined : chosen, version, Date.now())
  print.result(done, () => [
    `history.db is now ${done.backup}`,
    `the one before it is kept as ${done.setAside}`,
    `next: ${self} start`,
  ])
}

/** A daemon that is not there is no fault by itself: the socket's finding says whether one should be. */
async function daemonFinding({ connect, places, self }: Context): Promise<Finding> {
  const client = connect({ socket: places.socketPath })
  const status = await client.status().finally(client.close)
  if (!status) {
    const { message = 'does not answer', hint = `run: ${self} start` } = client.lastError ?? {}
    const remedy = 'memoryd restart (or kill -9 it: nothing gets lost)'
    if (client.lastError?.reason === 'slow') return { check: 'daemon', state: 'problem', message, remedy }
    return { check: 'daemon', state: 'warning', message, remedy: hint }
  }
  if (status.reasons[0]) {
    const { message, code } = status.reasons[0]
    return { check: 'daemon', state: 'problem', message: `runs degraded (${code}): ${message}`, remedy: 'see above' }
  }
  return { check: 'daemon', state: 'ok', message: `version ${status.version}, pid ${status.pid}, ${status.mode}` }
}

function serviceFinding(context: Context): Finding {
  const service = findService(context)
  const finding = { check: 'service', state: 'ok' } as const
  const install = `${context.self} service install`
  if (!service) return { ...finding, message: `no service manager here; ${context.self} start works without` }
  const { kind } = service
  if (!service.installed()) return { ...finding, message: `not installed with ${kind}`, remedy: `optional: ${install}` }
  const gone = service.starts().find((file) => !existsSync(file))
  if (gone === undefined) return { ...finding, message: `installed with ${kind}` }
  const message = `the ${kind} service starts ${gone}, which is gone`
  return { ...finding, state: 'problem', message, remedy: install }
}
