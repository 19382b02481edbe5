/** Notes when files grew, by the times that the file system gave them: tells when each part of a transcript was written. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export type Writes = {
  /** When the byte before `end` was there. */
  writtenAt(path: string, end: number): number
}

const LOOK_MS = 4

/** The root need not be there yet. */
export function noteWrites(root: string): Writes {
  const seen = new Map<string, { sizeBytes: number; atMs: number }[]>()
  const look = () => {
    if (!existsSync(root)) return
    for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const path = join(root, name)
      const stats = statSync(path, { throwIfNoEntry: false })
      const writes = seen.get(path) ?? []
      if (!stats?.isFile() || writes.at(-1)?.sizeBytes === stats.size) continue
      seen.set(path, [...writes, { sizeBytes: stats.size, atMs: stats.mtimeMs }])
    }
  }
  const timer = setInterval(look, LOOK_MS)
  onTestFinished(() => clearInterval(timer))
  return {
    writtenAt: (path, end) => {
      const write = seen.get(path)?.find(({ sizeBytes }) => sizeBytes >= end)
      if (!write) throw new Error(`no write of byte ${end} of ${path} written`)
      return write.atMs
    },
  }
}
