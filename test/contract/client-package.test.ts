import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDaemon } from '../support/daemon.ts'
import { makeHome } from '../support/home.ts'
import { projectRoot } from '../support/sources.ts'

const packed = mkdtempSync(join(tmpdir(), 'md-packed-'))
afterAll(() => rmSync(packed, { recursive: true }))

let tarball = ''
beforeAll(() => {
  tarball = execFileSync('npm', ['pack', '--pack-destination', packed, '--silent'], {
    cwd: join(projectRoot, 'client'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
})

/** The packed client alone in an empty project: no zod, no workspace, no source. */
function installAlone(folder: string): void {
  const target = join(folder, 'node_modules', '@memoryd', 'client')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['xzf', join(packed, tarball), '--strip-components=1', '-C', target])
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
}

describe('the client package by itself', () => {
  it('talks to a daemon with nothing else installed', async () => {
    const home = makeHome()
    const daemon = await startDaemon(home)
    installAlone(home.dir)
    expect(readdirSync(join(home.dir, 'node_modules'))).toEqual(['@memoryd'])
    writeFileSync(
      join(home.dir, 'harness.js'),
      `import { connect } from '@memoryd/client'
       const memory = connect()
       const health = await memory.health()
       console.log(JSON.stringify({ available: memory.available, pid: health?.pid }))`,
    )
    const printed = execFileSync(process.execPath, ['harness.js'], {
      cwd: home.dir,
      env: home.env as NodeJS.ProcessEnv,
      encoding: 'utf8',
    })
    expect(JSON.parse(printed)).toEqual({ available: true, pid: daemon.pid })
  })

  it('gives exact types to a strict TypeScript project that has no zod', () => {
    const home = makeHome()
    installAlone(home.dir)
    mkdirSync(join(home.dir, 'node_modules', '@types'))
    symlinkSync(join(projectRoot, 'node_modules', '@types', 'node'), join(home.dir, 'node_modules', '@types', 'node'))
    symlinkSync(join(projectRoot, 'node_modules', 'undici-types'), join(home.dir, 'node_modules', 'undici-types'))
    writeFileSync(
      join(home.dir, 'harness.ts'),
      `import { connect } from '@memoryd/client'
       const lenient = await connect().status()
       export const mode: 'online' | 'offline' | undefined = lenient?.mode
       const strict = await connect({ strict: true }).pause({ cwd: '/x' })
       export const all: boolean = strict.all
       export const pieces: AsyncIterable<Uint8Array> = connect().exportMemories({ cwd: '/x' })
       export const imported = await connect().importMemories({ cwd: '/x', lines: pieces })
       // @ts-expect-error an import needs its lines
       await connect().importMemories({ cwd: '/x' })
       // @ts-expect-error the daemon may be away
       lenient.mode
       // @ts-expect-error there is no such field
       strict.nothing
       // @ts-expect-error there is no such input
       await connect().pause({ dir: '/x' })`,
    )
    const args = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node', 'harness.ts']
    const tsc = join(projectRoot, 'node_modules', '.bin', 'tsc')
    const check = () => execFileSync(tsc, args, { cwd: home.dir, encoding: 'utf8', stdio: 'pipe' })
    expect(check()).toBe('')
  })
})
