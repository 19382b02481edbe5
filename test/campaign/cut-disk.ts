/** An ext4 of its own in a file, mounted over a home, whose power can be cut. Needs root and a loop device. */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished, type TestContext } from 'vitest'
import { type Home, makeHome } from '../support/home.ts'
import { needPrograms } from '../support/programs.ts'
import { projectRoot } from '../support/sources.ts'

const run = promisify(execFile)
const BYTES = 192 * 1024 * 1024
/** Memory, where there is such a folder: what the file itself waits for is of no interest. */
const MEMORY = '/dev/shm'

export type CutDisk = {
  home: Home
  /** Holds the switch, so that it takes no time. */
  arm(): {
    /** From now on every write fails, and what was not synced is gone once it is mounted again. */
    cut(): Promise<void>
  }
  mountAgain(): Promise<void>
  close(): Promise<void>
}

export async function openCutDisk(context: TestContext): Promise<CutDisk> {
  const skip = (reason: string): never => {
    console.warn(`skipped: ${reason}`)
    return context.skip(reason)
  }
  if (process.platform !== 'linux') skip('power cuts need Linux')
  if (process.getuid?.() !== 0) skip('power cuts need root, to mount a file system')
  if (!existsSync('/dev/loop-control')) skip('power cuts need loop devices')
  needPrograms(context, 'cc', 'mkfs.ext4', 'mount', 'umount')

  const home = makeHome()
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'cut-'))
  const image = join(folder, 'disk')
  const program = join(folder, 'power-cut')
  execFileSync('cc', ['-Wall', '-Werror', '-o', program, join(projectRoot, 'test/campaign/power-cut.c')])
  writeFileSync(image, '')
  truncateSync(image, BYTES)
  execFileSync('mkfs.ext4', ['-q', '-F', image])
  const mount = () => run('mount', ['-o', 'loop', image, home.dir])
  try {
    await mount()
  } catch (error) {
    skip(`no file can be mounted here: ${(error as Error).message}`)
  }
  let isMounted = true
  const unmount = async () => {
    await run('umount', [home.dir])
    isMounted = false
  }
  const close = async () => {
    if (isMounted) await unmount()
    rmSync(folder, { recursive: true, force: true })
  }
  onTestFinished(close)
  mkdirSync(join(home.dir, '.config', 'memoryd'), { recursive: true })
  return {
    home,
    arm: () => {
      const child = spawn(program, [home.dir], { stdio: ['pipe', 'inherit', 'inherit'] })
      const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
      return {
        cut: async () => {
          child.stdin.write('x')
          if ((await exited) !== 0) throw new Error('the power could not be cut')
        },
      }
    },
    mountAgain: async () => {
      await unmount()
      await mount()
      isMounted = true
    },
    close,
  }
}
