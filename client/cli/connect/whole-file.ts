/** Files that are written whole or not at all, whatever a full disk or a kill leaves of the attempt. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

export type Rights = { mode: number; owner?: { uid: number; gid: number } }

export type Draft = {
  /** From then on it is the file. */
  place(): void
  /** Nothing is left of it; does nothing once it is placed. */
  discard(): void
}

/** Whose it is stands in the name: so it is known whether somebody still writes it. */
const DRAFT = /^\.memoryd-(\d+)-[0-9a-f]{12}$/

/** All of it is on the disk, beside the file, before anything is replaced. */
export function draftOf(path: string, text: string, { mode, owner }: Rights): Draft {
  const draft = join(dirname(path), `.memoryd-${process.pid}-${randomBytes(6).toString('hex')}`)
  const bytes = Buffer.from(text)
  const discard = () => rmSync(draft, { force: true })
  try {
    const fd = openSync(draft, 'wx', 0o600)
    try {
      // A disk that fills up takes a part of it, and calls that a success.
      for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      const { uid, gid } = fstatSync(fd)
      if (owner && (owner.uid !== uid || owner.gid !== gid)) fchownSync(fd, owner.uid, owner.gid)
      fchmodSync(fd, mode)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    if (!readFileSync(draft).equals(bytes)) throw new Error('what was written is not what is there')
  } catch (error) {
    discard()
    throw error
  }
  return {
    discard,
    place: () => {
      renameSync(draft, path)
      syncFolder(dirname(path))
    },
  }
}

export function writeWhole(path: string, text: string, rights: Rights): void {
  const draft = draftOf(path, text, rights)
  try {
    draft.place()
  } finally {
    draft.discard()
  }
}

/** What a killed one has left in a folder. */
export function sweepDrafts(folder: string): void {
  for (const name of namesIn(folder)) {
    const [draft, pid] = DRAFT.exec(name) ?? []
    if (draft !== undefined && !isAlive(Number(pid))) rmSync(join(folder, draft), { force: true })
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** So that a crash of the machine does not undo the renaming; where folders cannot be synced, it may. */
function syncFolder(folder: string): void {
  try {
    const fd = openSync(folder, 'r')
    try {
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    // It is in its place all the same.
  }
}
