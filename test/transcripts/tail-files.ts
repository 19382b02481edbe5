/** Transcripts that change in every way a file can, and what stands in them. */
import {
  appendFileSync,
  closeSync,
  openSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { lineOf, linesOf } from './tail-lines.ts'

export type Files = {
  /** Makes one change and says which. */
  change(): string
  contents(): Map<string, Buffer>
  wasWritten(id: string): boolean
}

const NAMES = ['a.jsonl', 'b.jsonl', 'c.jsonl']
const SIZES = [10, 10, 300, 300, 3_000, 9_000, 30_000]

export function createFiles({ folder, random }: { folder: string; random: () => number }): Files {
  const contents = new Map<string, Buffer>()
  /** The rest of a line that was begun. */
  const begun = new Map<string, Buffer>()
  const written = new Set<string>()
  let next = 0

  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const contentOf = (name: string) => contents.get(name) ?? Buffer.alloc(0)
  const at = (name: string) => join(folder, name)
  const newId = () => {
    const id = String(next++).padStart(6, '0')
    written.add(id)
    return id
  }
  const newLine = () => Buffer.from(`${lineOf(newId(), pick(SIZES))}${pick(['\n', '\n', '\n', '\r\n', '\n\n'])}`)
  const newLines = () => Buffer.concat(Array.from({ length: 1 + Math.floor(random() * 4) }, newLine))
  const keep = (name: string, content: Buffer) => {
    contents.set(name, content)
    begun.delete(name)
  }
  const append = (name: string, bytes: Buffer) => {
    appendFileSync(at(name), bytes)
    keep(name, Buffer.concat([contentOf(name), bytes]))
  }
  /** Some of the old lines, in order, then new ones. */
  const revised = (name: string) => {
    const kept = linesOf(contentOf(name)).filter(() => random() < 0.7)
    return Buffer.concat([Buffer.from(kept.map(({ text }) => `${text}\n`).join('')), newLines()])
  }
  const remove = (name: string) => {
    rmSync(at(name), { force: true })
    contents.delete(name)
    begun.delete(name)
  }

  const changes: Record<string, (name: string) => void> = {
    append: (name) => append(name, newLines()),
    begin: (name) => {
      const line = newLine()
      const cut = Math.floor(random() * line.length)
      append(name, line.subarray(0, cut))
      begun.set(name, line.subarray(cut))
    },
    'go on': (name) => {
      const rest = begun.get(name)
      if (!rest) return append(name, newLines())
      const cut = random() < 0.5 ? rest.length : Math.floor(random() * rest.length)
      append(name, rest.subarray(0, cut))
      if (cut < rest.length) begun.set(name, rest.subarray(cut))
    },
    'two writers': (name) => {
      const writers = [openSync(at(name), 'a'), openSync(at(name), 'a')]
      for (let n = 0; n < 6; n++) {
        const line = newLine()
        writeSync(pick(writers), line)
        keep(name, Buffer.concat([contentOf(name), line]))
      }
      writers.forEach(closeSync)
    },
    truncate: (name) => {
      const content = contentOf(name)
      const ends = [0, ...linesOf(content).map(({ offset, length }) => offset + length + 1)]
      const size = Math.min(content.length, random() < 0.5 ? Math.floor(random() * content.length) : pick(ends))
      writeFileSync(at(name), '', { flag: 'a' })
      truncateSync(at(name), size)
      keep(name, content.subarray(0, size))
    },
    'write again in place': (name) => {
      const content = revised(name)
      writeFileSync(at(name), content)
      keep(name, content)
    },
    'write others of the same size in place': (name) => {
      const renamed = new Map<string, string>()
      const other = (id: string) => renamed.get(id) ?? renamed.set(id, newId()).get(id)
      const content = Buffer.from(
        contentOf(name)
          .toString('latin1')
          .replace(/\d{6}/g, (id) => `${other(id)}`),
        'latin1',
      )
      const fd = openSync(at(name), contents.has(name) ? 'r+' : 'w')
      writeSync(fd, content)
      closeSync(fd)
      keep(name, content)
    },
    'put another in its place': (name) => {
      const content = revised(name)
      writeFileSync(at('new'), content)
      renameSync(at('new'), at(name))
      keep(name, content)
    },
    rename: (name) => {
      const to = pick(NAMES.filter((other) => other !== name))
      if (!contents.has(name)) return
      renameSync(at(name), at(to))
      keep(to, contentOf(name))
      contents.delete(name)
      begun.delete(name)
    },
    delete: remove,
    'delete and make again': (name) => {
      const content = revised(name)
      remove(name)
      writeFileSync(at(name), content)
      keep(name, content)
    },
  }
  const often = [...Array(8).fill('append'), 'begin', 'begin', 'go on', 'go on', 'truncate', ...Object.keys(changes)]

  return {
    change: () => {
      const what = pick(often)
      const name = pick(NAMES)
      changes[what]?.(name)
      return `${what} ${name}`
    },
    contents: () => contents,
    wasWritten: (id) => written.has(id),
  }
}
