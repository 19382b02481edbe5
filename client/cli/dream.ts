/** `memoryd dream`: starts a dream and shows what came of it, live with --watch. */
import { setTimeout as delay } from 'node:timers/promises'
import type { DreamLive } from '../../schema/dream.ts'
import { exitCodes, MemoryError } from '../../schema/errors.ts'
import type { StrictClient } from '../client.ts'
import { asUser, type Context, harmless } from './context.ts'
import { frame, gateLines, reportLines } from './dream-view.ts'

type DreamOptions = { watch?: true; explain?: true; last?: true }

const TICK_MS = 1_000
const CTRL_C = '\u0003'

export async function dream(context: Context, { watch, explain, last }: DreamOptions): Promise<void> {
  const cwd = process.cwd()
  await asUser(context, async (client) => {
    if (explain) {
      const answer = await client.dream({ cwd, explain: true })
      return context.print.result(answer, () => (answer.started ? [] : gateLines(answer)))
    }
    if (last) return report(context, client, cwd)
    // Without a keyboard Ctrl-C could ask nothing.
    const isSeen = process.stdout.isTTY && process.stdin.isTTY && context.print.form === 'text'
    const screen = watch && isSeen ? liveScreen() : quietScreen()
    try {
      const end = await followed(client, cwd, screen)
      screen.close()
      if (end === 'over') return await report(context, client, cwd)
      process.stderr.write(`memoryd: it goes on without you; ${context.self} dream --watch shows it again\n`)
      process.exitCode = exitCodes.ctrlC
    } finally {
      screen.close()
    }
  })
}

async function report(context: Context, client: StrictClient, cwd: string): Promise<void> {
  const status = await client.dreamStatus({ cwd })
  context.print.result(status, () => reportLines(status.last, context.self))
  if (status.last?.outcome === 'failed') process.exitCode = 1
}

type Screen = {
  show(project: string, live: DreamLive): void
  /** Resolves when the user leaves; `kill` is called when the user stops the dream. */
  left(kill: () => void): Promise<'left'>
  close(): void
}

/** Listens before it starts the dream, so that not even the end of a short one is missed. */
async function followed(client: StrictClient, cwd: string, screen: Screen): Promise<'over' | 'left'> {
  const leaving = new AbortController()
  const events = client.events({}, { signal: leaving.signal })[Symbol.asyncIterator]()
  await events.next()
  const begun = await client.dream({ cwd, force: true })
  if (!begun.started)
    throw new MemoryError('CONFLICT', `no dream was started: ${begun.why ?? begun.gate}`, {
      hint: 'run: memoryd dream --explain',
    })
  const { jobId } = begun
  const look = async () => {
    const { live } = await client.dreamStatus({ cwd })
    if (live?.jobId === jobId) screen.show(cwd, live)
  }
  const watching = async (): Promise<'over'> => {
    await look()
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const event = next.value
      if (event.type === 'dream' && event.jobId === jobId) await look()
      if (event.type !== 'job' || event.id !== jobId) continue
      const { state, error } = event
      const hint = `see: memoryd jobs show ${jobId}`
      if (['done', 'failed', 'killed'].includes(state)) return 'over'
      if (state === 'waiting') throw new MemoryError('CONFLICT', `it waits: ${error ?? ''}`, { hint })
      if (state === 'queued' && error !== undefined)
        throw new MemoryError('INTERNAL', `it failed and is tried again later: ${error}`, { hint })
    }
    throw new MemoryError('UNREACHABLE', 'the daemon stopped', { hint: 'start it: memoryd start' })
  }
  try {
    const kill = () => void client.killJob({ id: jobId }).catch(() => {})
    const end = await Promise.race([watching(), screen.left(kill)])
    if (end === 'left') return end
    // A job that was killed is over before its dream has put everything back.
    while ((await client.dreamStatus({ cwd })).live?.state === 'running') await delay(50)
    const { skipped } = ((await client.job({ id: jobId })).result ?? {}) as { skipped?: string }
    if (skipped === undefined) return end
    // It has no report: the last one would be that of another dream.
    const hint = 'to see the last one: memoryd dream --last'
    throw new MemoryError('CONFLICT', `there was no dream: ${skipped}`, { hint })
  } finally {
    leaving.abort()
    await events.return?.().catch(() => {})
  }
}

function quietScreen(): Screen {
  let interrupt = () => {}
  return {
    show: () => {},
    left: () =>
      new Promise((resolve) => {
        interrupt = () => resolve('left')
        process.once('SIGINT', interrupt)
      }),
    close: () => process.off('SIGINT', interrupt),
  }
}

/** Frames over the whole terminal, on its alternate screen: what was there is there again afterwards. */
function liveScreen(): Screen {
  const { stdin, stdout } = process
  let last: { project: string; live: DreamLive } | undefined
  let asking = false
  let closed = false
  let onKey = (_key: string) => {}
  const draw = () => {
    if (!last || closed) return
    const size = { columns: stdout.columns || 80, rows: stdout.rows || 24 }
    const lines = frame({ ...last, nowMs: Date.now(), asking }, size).slice(0, size.rows)
    stdout.write(`\u001b[H${lines.map((line) => `${harmless(line, 'off')}\u001b[K`).join('\r\n')}\u001b[J`)
  }
  const key = (data: Buffer) => onKey(data.toString())
  stdout.write('\u001b[?1049h\u001b[?25l')
  stdin.setRawMode?.(true)
  stdin.on('data', key)
  stdin.resume()
  const ticking = setInterval(draw, TICK_MS)
  return {
    show: (project, live) => {
      last = { project, live }
      draw()
    },
    left: (kill) =>
      new Promise((resolve) => {
        onKey = (pressed) => {
          if (asking && (pressed === 'd' || pressed === CTRL_C)) return resolve('left')
          if (asking && pressed === 'k') kill()
          asking = !asking && (pressed === CTRL_C || pressed === 'q')
          draw()
        }
      }),
    close: () => {
      if (closed) return
      closed = true
      clearInterval(ticking)
      stdin.off('data', key)
      stdin.setRawMode?.(false)
      stdin.pause()
      stdout.write('\u001b[?25h\u001b[?1049l')
    },
  }
}
