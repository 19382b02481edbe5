/** A small file that holds a secret: read only when nobody else could have read it, else refused with the remedy. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { message } from './files.ts'

export type PrivateText = { text: string } | { trouble: string; remedy: string }

const LARGEST_BYTES = 16_384

export function readPrivateFile(path: string): PrivateText {
  let fd: number
  try {
    // Without waiting: a pipe that nobody writes to would be waited for without end.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (missing) return { trouble: `${path} is not there`, remedy: `write the key into it and chmod 600 ${path}` }
    return { trouble: `${path} cannot be read: ${message(error)}`, remedy: `make it yours: chmod 600 ${path}` }
  }
  try {
    const stats = fstatSync(fd)
    const mode = (stats.mode & 0o777).toString(8)
    if (!stats.isFile()) return { trouble: `${path} is not a file`, remedy: 'name a file that holds the key alone' }
    if (stats.uid !== process.getuid?.())
      return { trouble: `${path} belongs to uid ${stats.uid}, not to you`, remedy: 'make a file of your own' }
    if (stats.mode & 0o077)
      return { trouble: `${path} can be read by others (mode ${mode})`, remedy: `chmod 600 ${path}` }
    if (stats.size > LARGEST_BYTES)
      return { trouble: `${path} is ${stats.size} bytes long`, remedy: 'it should hold the key alone' }
    return { text: readFileSync(fd, 'utf8') }
  } catch (error) {
    return { trouble: `${path} cannot be read: ${message(error)}`, remedy: `make it yours: chmod 600 ${path}` }
  } finally {
    closeSync(fd)
  }
}
