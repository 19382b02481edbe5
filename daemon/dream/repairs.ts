/**
 * Makes an index true without asking anybody: pointers that lead nowhere and second ones to the same file go, memories that
 * nothing points to get one, lines that are far too long are cut. Leaves everything else as a person wrote it. Pure.
 */
import { isOutside, splitLines, withPointers } from '../memory/index-file.ts'
import { POINTER_CHARS, type Pointer, readPointer, writePointer } from '../memory/pointer.ts'
import { isMemoryName } from '../memory/scan.ts'
import { hookOf, parseTopic } from '../memory/topic-file.ts'
import type { Texts } from './state.ts'

export type Repairs = { dangling: number; duplicate: number; orphan: number; long: number }

export const NO_REPAIRS: Repairs = { dangling: 0, duplicate: 0, orphan: 0, long: 0 }

/** A person's line may be somewhat longer than ours. */
const LONG_CHARS = Math.round((POINTER_CHARS * 4) / 3)

export function repairIndex(
  index: string,
  texts: Texts,
  exists: (file: string) => boolean,
): { index: string; repairs: Repairs } {
  const repairs = { ...NO_REPAIRS }
  const seen = new Set<string>()
  const lines = splitLines(index).flatMap((line) => {
    const pointer = readPointer(line.text)
    if (!pointer) return [line]
    const { file } = pointer
    if (seen.has(file)) {
      repairs.duplicate++
      return []
    }
    // What is no memory, an address say, is not ours to judge.
    if (isMemoryName(file) && !isOutside(pointer) && !texts.has(file) && !exists(file)) {
      repairs.dangling++
      return []
    }
    seen.add(file)
    if ([...line.text].length <= LONG_CHARS) return [line]
    repairs.long++
    return [{ ...line, text: writePointer(pointer, pointer) }]
  })
  const orphans = [...texts].filter(([file]) => !seen.has(file)).map(pointerTo)
  repairs.orphan = orphans.length
  return { index: withPointers(lines.map(({ text, end }) => text + end).join(''), orphans), repairs }
}

export function pointerTo([file, text]: readonly [string, string]): Pointer {
  const topic = parseTopic(text)
  return { file, title: topic.name ?? file.replace(/\.md$/, ''), hook: hookOf(topic) }
}
