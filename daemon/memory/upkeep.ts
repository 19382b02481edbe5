/** Keeps an index true to the memories it points to, touching only the lines it has to. */
import type { Confined } from './confined.ts'
import { isLog } from './daily-log.ts'
import { indexOf, nameInIndex, type Present, readPresent } from './folder.ts'
import { withoutPointer, withPointers } from './index-file.ts'
import type { Pointer } from './pointer.ts'
import { hookOf, parseTopic } from './topic-file.ts'

/** A memory as it will be; nothing when it goes. */
export type Pointed = { file: string; content: string | undefined }

export type IndexChange = { file: string; before: Present | undefined; text: string }

/** The indexes that have to change, and to what. An index whose bytes are no text is left alone. */
export function upkeep(folder: Confined, changed: readonly Pointed[]): IndexChange[] {
  const memories = changed.filter(({ file }) => !isLog(file))
  const files = [...new Set(memories.map(({ file }) => indexOf(file)))]
  return files.flatMap((file) => {
    const before = readPresent(folder, file)
    if (before && !before.exact) return []
    const own = memories.filter((memory) => indexOf(memory.file) === file)
    const rest = own.filter(({ content }) => content === undefined).reduce(withoutGone, before?.text ?? '')
    const text = withPointers(rest, own.flatMap(pointerTo))
    return text === (before?.text ?? '') ? [] : [{ file, before, text }]
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
