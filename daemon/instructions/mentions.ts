/** Finds the `@path` mentions of an instruction file that may mean another file. Linear in the text, does no I/O. */
import { withoutCode } from './code.ts'

export type Mention = {
  /** As it stands in the text. */
  written: string
  /** What may be meant, to be tried in order: the whole, without the sentence's punctuation, without its `#part`. */
  names: string[]
}

/** No path is longer. */
const CAP_CHARACTERS = 4096

/**
 * As Claude Code has it, a mention begins a line or follows white space, which spares e-mail addresses; it ends at white
 * space that no backslash escapes. Each is given once.
 */
export function findMentions(text: string): Mention[] {
  const prose = withoutCode(text)
  const mentions = new Map<string, Mention>()
  for (let at = prose.indexOf('@'); at >= 0; ) {
    const end = mentionEnd(prose, at + 1)
    if (end - at <= CAP_CHARACTERS && (at === 0 || isSpace(prose[at - 1]))) {
      const written = prose.slice(at, end)
      const names = namesOf(written.slice(1).replaceAll('\\ ', ' '))
      if (names.length > 0 && !mentions.has(written)) mentions.set(written, { written, names })
    }
    at = prose.indexOf('@', end)
  }
  return [...mentions.values()]
}

function mentionEnd(text: string, start: number): number {
  let end = start
  while (end < text.length && !isSpace(text[end])) {
    if (text[end] === '\\') {
      if (text[end + 1] !== ' ') break
      end++
    }
    end++
  }
  return end
}

function isSpace(char: string | undefined): boolean {
  return char !== undefined && /\s/.test(char)
}

function namesOf(whole: string): string[] {
  const bare = withoutTail(whole)
  const part = bare.indexOf('#')
  const names = [whole, bare, part > 0 ? withoutTail(bare.slice(0, part)) : bare]
  return [...new Set(names)].filter((name) => /^(?:\.{0,2}\/.|~\/.|[\p{L}\p{N}._-])/u.test(name))
}

/** Without the punctuation that belongs to the sentence. A loop: `[…]+$` would be quadratic. */
function withoutTail(name: string): string {
  const characters = [...name]
  while (/^[\p{Pe}\p{Pf}\p{Po}>_~|]$/u.test(characters.at(-1) ?? '')) characters.pop()
  return characters.join('')
}
