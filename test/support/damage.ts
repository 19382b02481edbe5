/** Damages a database file as a failing disk would. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** The page (the first is 1) of a table's rows that holds this text. */
export function pageWith(file: string, text: string): number {
  const bytes = readFileSync(file)
  const size = bytes.readUInt16BE(16) || 4096
  const TABLE_ROWS = 0x0d
  for (let page = 2; page * size <= bytes.length; page++) {
    const content = bytes.subarray((page - 1) * size, page * size)
    if (content[0] === TABLE_ROWS && content.includes(text)) return page
  }
  throw new Error(`no page of ${file} holds ${text}`)
}

/** Overwrites one page (the first is 1) with noise; of the first page only what follows the file header. */
export function overwritePage(file: string, page: number): void {
  const size = readFileSync(file).readUInt16BE(16) || 4096
  const start = page === 1 ? 100 : (page - 1) * size
  const fd = openSync(file, 'r+')
  writeSync(fd, Buffer.alloc(page === 1 ? size - 100 : size, 0xa5), 0, undefined, start)
  closeSync(fd)
}
