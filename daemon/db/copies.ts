/** All copies of history.db in the state folder: backups, and what was set aside. Tells those that can be edited from the rest. */
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isUsable, listBackups } from './backup.ts'
import type { Layout } from './layout.ts'

const WINDOW_BYTES = 4_194_304

/** Those that are sound and of a schema we know. A link is not a copy of ours. */
export function editableCopies(layout: Layout): string[] {
  return candidates(layout).filter(isUsable)
}

/** Deletes damaged copies in which one of the phrases stands, and whatever was set aside with it. Returns them. */
export function deleteDamagedWith(layout: Layout, phrases: readonly string[]): string[] {
  const needles = phrases.map((phrase) => Buffer.from(phrase))
  const damaged = candidates(layout).filter((file) => !isUsable(file))
  const doomed = damaged.filter((file) => [file, `${file}-wal`].some((each) => holds(each, needles)))
  for (const file of doomed) for (const tail of ['-wal', '-shm', '']) rmSync(file + tail, { force: true })
  return doomed
}

function candidates({ backups, corrupt }: Layout): string[] {
  const names = existsSync(corrupt) ? readdirSync(corrupt) : []
  // A WAL whose database is gone stands for it.
  const aside = new Set(names.map((name) => join(corrupt, name.replace(/-(?:wal|shm|journal)$/, ''))))
  return [...listBackups(backups), ...aside].filter((file) => isPlain(file) || isPlain(`${file}-wal`))
}

function isPlain(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() === true
}

/** In windows that overlap by the longest needle: a damaged file may be larger than memory. */
function holds(file: string, needles: readonly Buffer[]): boolean {
  if (!isPlain(file) || needles.length === 0) return false
  const overlap = Math.max(...needles.map((needle) => needle.length))
  const window = Buffer.allocUnsafe(WINDOW_BYTES + overlap)
  const fd = openSync(file, 'r')
  try {
    for (let start = 0; ; start += WINDOW_BYTES) {
      const bytes = window.subarray(0, readSync(fd, window, 0, window.length, start))
      if (needles.some((needle) => bytes.includes(needle))) return true
      if (bytes.length < window.length) return false
    }
  } finally {
    closeSync(fd)
  }
}
