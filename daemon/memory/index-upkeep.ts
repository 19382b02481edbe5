/** Keeps an index true to the memories it points to, touching only the lines it has to. */

import { isLog } from './file-names.ts'
import { type Confined, indexOf, nameInIndex, type Present, presentOf } from './folder.ts'
import { saysAlready, withoutPointer, withPointers } from './index-file.ts'
import type { Pointer } from './pointer.ts'
import { hookOf, parseTopic } from './topic-file.ts'

/** A memory as it will be; nothing when it goes. */
export type Pointed = { file: string; content: string | undefined }

/** `bytes`: of the text, for whoever measures, hashes or writes it. */
export type IndexChange = { file: string; before: Present | undefined; text: string; bytes: Buffer }

/** The indexes that have to change, and to what. An index whose bytes are no text is left alone. */
export function upkeep(folder: Confined, changed: readonly Pointed[]): IndexChange[] {
  const memories = changed.filter(({ file }) => !isLog(file))
  const files = [...new Set(memories.map(({ file }) => indexOf(file)))]
  return files.flatMap((file) => {
    const own = memories.filter((memory) => indexOf(memory.file) === file)
    const gone = own.filter(({ content }) => content === undefined)
    const pointers = own.flatMap(pointerTo)
    const index = folder.read(file)
    // Most changes leave name and description as they are: nothing more is made of an index of a thousand lines then.
    if (index && gone.length === 0 && pointers.every((pointer) => saysAlready(index.bytes, pointer))) return []
    const before = index && presentOf(index)
    if (before && !before.exact) return []
    const rest = gone.reduce(withoutGone, before?.text ?? '')
    const text = withPointers(rest, pointers)
    if (text === (before?.text ?? '')) return []
    return [
      { file, before, text, bytes: index && before ? bytesOf(text, before.text, index.bytes) : Buffer.from(text) },
    ]
  })
}

/** A new memory adds a line at the end, as a rule: the thousand before it are not encoded once more. */
function bytesOf(text: string, before: string, bytes: Buffer): Buffer {
  if (!text.startsWith(before)) return Buffer.from(text)
  return Buffer.concat([bytes, Buffer.from(text.slice(before.length))])
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
