/** Reads a small file that somebody else wrote. Follows no link, waits for no pipe; what cannot be read is empty. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

const OPEN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const MOST_BYTES = 1_000_000

export function readSmall(path: string): string {
  try {
    const fd = openSync(path, OPEN)
    try {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size <= MOST_BYTES ? readFileSync(fd, 'utf8') : ''
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}
