/** A home for a few seconds: folders, a project and a real daemon in it, all of which are gone afterwards. */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findPlaces, MAX_SOCKET_BYTES } from '../../../schema/rendezvous.ts'
import type { StrictClient } from '../../client.ts'
import type { Context } from '../context.ts'
import { endDaemon, spawnDaemon } from '../daemon-process.ts'
import type { Session } from './history.ts'
import { linesOf } from './transcript.ts'

/** For the name of the home and of the socket in it. */
const ROOM_BYTES = 30

export type Stage = {
  home: string
  cwd: string
  socket: string
  client: StrictClient
  /** A harness writes down one turn. */
  play(session: Session, turn: number): void
  close(): Promise<void>
}

/** A socket has room for a hundred bytes. */
function shortFolder(folder: string): string {
  return Buffer.byteLength(folder) > MAX_SOCKET_BYTES - ROOM_BYTES ? '/tmp' : folder
}

export async function openStage(context: Context): Promise<Stage> {
  const home = mkdtempSync(join(shortFolder(tmpdir()), 'mdemo-'))
  // Nothing of the person's own: neither settings nor keys, and no model is asked.
  const env = { HOME: home, PATH: context.env.PATH, TZ: context.env.TZ, MEMORYD_SOCKET: join(home, 's.sock') }
  const places = findPlaces(env)
  const inside: Context = { ...context, env, places }
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 3 })
  try {
    const cwd = join(home, 'shop')
    mkdirSync(join(cwd, '.git'), { recursive: true })
    mkdirSync(dirname(places.configFile), { recursive: true })
    writeFileSync(places.configFile, JSON.stringify({ notes: { initTokens: 1_000, updateTokens: 500, toolCalls: 0 } }))
    const slug = cwd.replace(/[^A-Za-z0-9]/g, '-')
    const fileOf = ({ harness, id }: Session) =>
      harness === 'codex'
        ? join(home, '.codex', 'sessions', '2026', '11', '17', `rollout-2026-11-17T10-00-00-${id}.jsonl`)
        : join(home, '.claude', 'projects', slug, `${id}.jsonl`)
    for (const harness of ['claude-code', 'codex'] as const)
      mkdirSync(dirname(fileOf({ harness, id: '', title: '', turns: [] })), { recursive: true })
    await spawnDaemon(inside)
    const client = context.connect({ socket: places.socketPath, strict: true, actor: 'user', deadlineMs: 30_000 })
    return {
      home,
      cwd,
      socket: places.socketPath,
      client,
      play: (session, turn) => {
        const lines = linesOf(session, turn, { cwd, atMs: Date.now() })
        appendFileSync(fileOf(session), `${lines.join('\n')}\n`)
      },
      close: async () => {
        client.close()
        await endDaemon(inside)
        remove()
      },
    }
  } catch (error) {
    await endDaemon(inside).catch(() => undefined)
    remove()
    throw error
  }
}
