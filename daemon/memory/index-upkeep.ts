/** Keeps an index true to the memories it points to, touching only the lines it has to. */

import { indexOf, isLog, nameInIndex } from './file-names.ts'
import type { MemoryFile, MemoryFolder } from './folder.ts'
import { saysAlready, withoutPointer, withPointers } from './index-file.ts'
import type { Pointer } from './pointer.ts'
import { hookOf, parseTopic } from './topic-file.ts'

/** A memory as it will be; without `content` it goes. */
export type Pointed = { file: string; content: string | undefined }

export type IndexChange = { file: string; before: MemoryFile | undefined; text: string; bytes: Buffer }

/** The indexes that have to change, and to what. An index whose bytes are no text is left alone. */
export function upkeep(folder: MemoryFolder, changed: readonly Pointed[]): IndexChange[] {
  const memories = changed.filter(({ file }) => !isLog(file))
  const files = [...new Set(memories.map(({ file }) => indexOf(file)))]
  return files.flatMap((file) => {
    const own = memories.filter((memory) => indexOf(memory.file) === file)
    const gone = own.filter(({ content }) => content === undefined)
    const pointers = own.flatMap(pointerTo)
    const before = folder.read(file)
    // Most changes leave name and description as they are: an index of a thousand lines is not parsed for these.
    if (before && gone.length === 0 && pointers.every((pointer) => saysAlready(before.bytes, pointer))) return []
    if (before?.isText === false) return []
    const text = withPointers(gone.reduce(withoutGone, before?.text ?? ''), pointers)
    return text === (before?.text ?? '') ? [] : [{ file, before, text, bytes: Buffer.from(text) }]
  })
}

function withoutGone(index: string, { file }: Pointed): string {
  return withoutPointer(index, nameInIndex(file))
}

function pointerTo({ file, content }: Pointed): Pointer[] {
  if (content === undefined) return []
  const name = nameInIndex(file)
  const topic = parseTopic(content)
  return [{ file: name, title: topic.name ?? name.replace(/\.md$/, ''), hook: hookOf(topic) }]
}
