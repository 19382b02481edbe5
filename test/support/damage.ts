/** Damages a database file as a failing disk would. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Overwrites one page (the first is 1) with noise; of the first page only what follows the file header. */
export function overwritePage(file: string, page: number): void {
  const size = readFileSync(file).readUInt16BE(16) || 4096
  const start = page === 1 ? 100 : (page - 1) * size
  const fd = openSync(file, 'r+')
  writeSync(fd, Buffer.alloc(page === 1 ? size - 100 : size, 0xa5), 0, undefined, start)
  closeSync(fd)
}
