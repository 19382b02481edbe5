/** A memory directory as a dream sees it, and what it would leave. Types only, and how one is laid over the other. */

export type SeenMemory = { file: string; text: string; hash: string }

export type SeenDirectory = {
  memories: readonly SeenMemory[]
  index: { text: string; hash: string } | undefined
  /** Whether a file is there at all: one that is too large or no text is, and is not among the memories. */
  exists(file: string): boolean
  /** Whether a person has taken back the last change of it. */
  wasPutBack(file: string): boolean
}

/** What a model wants to be there; `null` takes a file away. */
export type Draft = { file: string; content: string | null; expect: string | null; because: { reason: string } }

export const INDEX = 'MEMORY.md'

export type Texts = Map<string, string>

export function textsOf({ memories }: Pick<SeenDirectory, 'memories'>): Texts {
  return new Map(memories.map(({ file, text }) => [file, text]))
}

export function laidOver(before: ReadonlyMap<string, string>, drafts: readonly Draft[]): Texts {
  const after = new Map(before)
  for (const { file, content } of drafts) {
    if (file === INDEX) continue
    if (content === null) after.delete(file)
    else after.set(file, content)
  }
  return after
}

export function changedAmong(before: Texts, after: Texts): [string, string][] {
  return [...after].filter(([file, text]) => before.get(file) !== text)
}
