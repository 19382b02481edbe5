/** The log on disk: a few files that together never exceed a cap. Losing a line is better than stopping the daemon. */
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { LOG_FILES } from '../../schema/log-line.ts'

export type LogFile = {
  /** After `close` lines are dropped. */
  write(line: string): void
  setCap(bytes: number): void
  close(): void
}

export function openLogFile(path: string, capBytes: number, onTrouble: (problem: string) => void): LogFile {
  let cap = capBytes
  let fd: number | undefined
  let size = 0
  let closed = false

  const open = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    fd = openSync(path, 'a', 0o600)
    size = statSync(path).size
  }
  const shut = () => {
    if (fd !== undefined) closeSync(fd)
    fd = undefined
  }
  const rotate = () => {
    shut()
    rmSync(`${path}.${LOG_FILES - 1}`, { force: true })
    for (let n = LOG_FILES - 2; n >= 1; n--) moveIfThere(`${path}.${n}`, `${path}.${n + 1}`)
    moveIfThere(path, `${path}.1`)
  }

  return {
    write: (line) => {
      if (closed) return
      const bytes = Buffer.from(line)
      try {
        if (fd === undefined) open()
        if (size > 0 && size + bytes.length > cap / LOG_FILES) {
          rotate()
          open()
        }
        size += writeSync(fd as number, bytes)
      } catch (error) {
        // A full disk or a revoked folder: try to open again with the next line.
        shut()
        onTrouble(error instanceof Error ? error.message : String(error))
      }
    },
    setCap: (bytes) => {
      cap = bytes
    },
    close: () => {
      closed = true
      shut()
    },
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
