import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest'
import { connectAs } from '../support/connect-as.ts'
import { launch, startDaemon as startProcess } from '../support/daemon.ts'
import { statusEvents } from '../support/events.ts'
import { type Home, makeHome } from '../support/home.ts'
import { runHook } from '../support/hook-command.ts'
import { startDaemon } from '../support/in-process.ts'
import { append, genericRoot, turn, turnEvents } from '../support/transcripts.ts'

/** So often a daemon looks whether a disk that was full can be written again. */
const PROBE_MS = 5_000

/** A home whose state folder is a small file system of its own. */
function smallDisk({ skip }: TestContext): Home {
  const home = makeHome()
  mkdirSync(home.places.stateDir, { recursive: true, mode: 0o700 })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'tmpfs', home.places.stateDir])
  if (mounted.status !== 0) {
    console.warn('skipped: cannot mount a file system here')
    skip()
  }
  onTestFinished(() => void spawnSync('umount', ['-l', home.places.stateDir]))
  return home
}

function fill(home: Home): string {
  const ballast = join(home.places.stateDir, 'ballast')
  let size = 2_000_000
  while (size > 0)
    try {
      writeFileSync(ballast, Buffer.alloc(size))
      return ballast
    } catch {
      size -= 4_096
    }
  return ballast
}

/** Pauses folders until one is refused. */
async function refusal(client: Awaited<ReturnType<typeof startDaemon>>['client']): Promise<unknown> {
  for (let n = 0; n < 1_000; n++) {
    const error = await client.pause({ cwd: `/full/${n}/${'x'.repeat(2_000)}` }).catch((error: unknown) => error)
    if (error instanceof Error) return error
  }
  return undefined
}

describe('a disk that is full', () => {
  it('refuses writes clearly, goes on answering, and is used again when there is room', async (context) => {
    const home = smallDisk(context)
    const daemon = await startDaemon(home)
    const ballast = fill(home)
    expect(await refusal(daemon.client)).toMatchObject({
      code: 'DEGRADED',
      message: expect.stringContaining('cannot write'),
    })
    expect(await daemon.client.health()).toMatchObject({ ok: true })
    const full = await daemon.client.status()
    expect(full).toMatchObject({ state: 'degraded', reasons: [{ code: 'disk' }] })

    for await (const event of statusEvents(daemon.client)) {
      if (event.change === 'connected') {
        rmSync(ballast)
        daemon.time.pass(PROBE_MS)
      }
      if (event.state === 'ready') break
    }
    expect(await daemon.client.pause({ cwd: '/after' })).toMatchObject({ all: false })
    // What a kill at this moment would leave.
    const killed = makeHome()
    cpSync(home.places.stateDir, killed.places.stateDir, { recursive: true })
    chmodSync(killed.places.stateDir, 0o700)
    const again = await startProcess(killed)
    const { paused, errors } = await again.client.status()
    expect(paused.projects).toEqual([...full.paused.projects, '/after'].sort())
    expect(errors).toEqual([])
  })
})

it('a disk that is full keeps no hook waiting, and none says anything but what it should', async (context) => {
  const home = smallDisk(context)
  const cwd = join(home.dir, 'project')
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const daemon = await startDaemon(home)
  const person = connectAs(home, 'user')
  await person.remember({ cwd, text: 'Deploys of the shop go out from the release branch only' })
  const ballast = fill(home)
  expect(await refusal(daemon.client)).toMatchObject({ code: 'DEGRADED' })
  const hook = (hook_event_name: string, more: object = {}) =>
    runHook('claude-code', home.places.socketPath, { hook_event_name, session_id: 's', cwd, ...more })
  const prompt = () => hook('UserPromptSubmit', { prompt: 'How do I deploy the shop?' })
  const transcript_path = join(home.dir, 'none.jsonl')
  const runs = [
    await hook('SessionStart', { source: 'startup' }),
    await prompt(),
    await hook('PostToolUse'),
    await hook('Stop', { transcript_path }),
    await hook('PreCompact', { trigger: 'auto' }),
    await hook('SessionStart', { source: 'compact' }),
    await hook('SessionEnd', { transcript_path }),
  ]
  for (const { code, stderr } of runs) expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  // To read takes no room.
  expect(runs.map(({ stdout }) => stdout.includes('release branch only') || stdout)).toEqual([
    '',
    true,
    '',
    '',
    '',
    '',
    '',
  ])
  expect((await daemon.client.status()).errors).toEqual([])
  rmSync(ballast)
  daemon.time.pass(PROBE_MS)
  expect(await daemon.client.status()).toMatchObject({ state: 'ready' })
  expect((await prompt()).stdout).toContain('release branch only')
})

it('a disk that is full while transcripts are read is told as such, and what could not be saved is read when there is room', async (context) => {
  const home = smallDisk(context)
  const root = genericRoot(home)
  const daemon = await startDaemon(home)
  const turns = await turnEvents(daemon.client)
  const ballast = fill(home)
  append(join(root, 's.jsonl'), { type: 'session', id: 's', cwd: home.dir }, ...turn('lighthouse'))
  for await (const event of statusEvents(daemon.client)) if (event.state === 'degraded') break
  const { size } = statSync(join(root, 's.jsonl'))
  while ((await daemon.client.status()).ingest.lagBytes !== size) await daemon.client.health()
  expect(await daemon.client.status()).toMatchObject({ state: 'degraded', reasons: [{ code: 'disk' }], errors: [] })
  rmSync(ballast)
  daemon.time.pass(PROBE_MS)
  await turns.take(1)
  for await (const event of statusEvents(daemon.client)) if (event.state === 'ready') break
  expect(await daemon.client.status()).toMatchObject({ state: 'ready', ingest: { lagBytes: 0 }, errors: [] })
})

it('a disk that is read-only keeps a daemon from starting, in plain words', async (context) => {
  const home = smallDisk(context)
  await (await startProcess(home)).stop()
  spawnSync('mount', ['-o', 'remount,ro', home.places.stateDir])
  const exit = await launch(home).exited
  expect(exit).toMatchObject({ code: 5, stderr: expect.stringContaining('cannot write to the state folder: EROFS') })
  expect(exit.stderr).not.toContain('    at ')
})
