/**
 * Before all tests of `npm test`: puts their homes in memory where there is room. To wait for a disk at each write takes half of
 * their time, and for what a killed process leaves it makes no difference. `test:long` stays on the disk, as does `TMPDIR=/tmp npm test`.
 */
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = '/dev/shm'
const ROOM_BYTES = 4 * 2 ** 30

export default function setup(): void {
  if (process.env.TMPDIR || !isRoomy()) return
  const folder = mkdtempSync(join(FOLDER, 'md-'))
  // A test looks into a home as another user.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  // After Ctrl-C as well: what stays there takes memory until the machine is started again.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
}

function isRoomy(): boolean {
  try {
    accessSync(FOLDER, constants.R_OK | constants.W_OK | constants.X_OK)
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const [, , kind, options = ''] = mounts.findLast((line) => line.split(' ')[1] === FOLDER)?.split(' ') ?? []
    const { bavail, bsize } = statfsSync(FOLDER)
    // Tests run scripts in their homes.
    return kind === 'tmpfs' && !options.split(',').includes('noexec') && bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}
