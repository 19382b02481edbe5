/**
 * Texts of files without their credentials. The whole of a file is looked through before any part of it is told: what is
 * cut in the middle is not recognised as one. Only of a file too long for that it is a wide part around each line.
 */
import type { Match, Matches } from './matching.ts'
import type { Pace } from './pace.ts'

export type CleanTexts = {
  /** The same text, asked for again, is not looked through again. */
  whole(text: string): Promise<string>
  /** Lines as they begin in the clean text of their file; what has no place there is left out. */
  lines(found: Matches, textOf: (path: string) => Promise<string | undefined>, pace: Pace): Promise<Matches>
}

/** As much of a line as is ever told, and one more to see that there is more. */
export const CAP_LINE_CHARS = 500
const CAP_WHOLE_CHARS = 4_000_000
/** Longer than any key, in lines of its own or within one. */
const AROUND_CHARS = 50_000
const CAP_LOOKED_CHARS = 16_000_000
const LEFT_OUT = '[left out: part of a credential]'

export function createCleanTexts({ redact }: { redact: (text: string) => Promise<string> }): CleanTexts {
  let last: { text: string; clean: string } | undefined
  const whole = async (text: string) => {
    if (last?.text !== text) last = { text, clean: await redact(text) }
    return last.clean
  }

  return {
    whole,
    lines: async ({ matches, cut }, textOf, pace) => {
      const told: Match[] = []
      let left = CAP_LOOKED_CHARS
      for (const [path, found] of byPath(matches)) {
        const text = (await textOf(path)) ?? ''
        const isLong = text.length > CAP_WHOLE_CHARS
        const at = startsOf(text)
        for (const some of isLong ? found.map((match) => [match]) : [found]) {
          const seen = isLong ? around(text, at(some[0]?.line ?? 1)) : text
          const heads = some.map((match) => match.text.slice(0, AROUND_CHARS))
          left -= heads.reduce((sum, head) => sum + head.length, seen.length)
          if (left < 0 || (await pace())) return { matches: told, cut: true }
          const lines: string[] = []
          for (const head of heads) lines.push(begun(await redact(head)))
          const stands = linesAmong(await (isLong ? redact(seen) : whole(seen)), new Set(lines))
          for (const [n, match] of some.entries()) {
            const line = lines[n] as string
            told.push({ ...match, text: stands.has(line) ? line : LEFT_OUT })
          }
        }
      }
      return { matches: told, cut }
    },
  }
}

function begun(line: string): string {
  return line.slice(0, CAP_LINE_CHARS + 1)
}

function byPath(matches: readonly Match[]): Map<string, Match[]> {
  const files = new Map<string, Match[]>()
  for (const match of matches) {
    const known = files.get(match.path)
    if (known) known.push(match)
    else files.set(match.path, [match])
  }
  return files
}

/** Where a line begins; asked for in order, so that a long text is gone through once. */
function startsOf(text: string): (line: number) => number {
  let [number, at] = [1, 0]
  return (line) => {
    for (; number < line; number++) {
      const newline = text.indexOf('\n', at)
      if (newline < 0) break
      at = newline + 1
    }
    return at
  }
}

/** From the start of a line on, or half of one would be taken for a line. */
function around(text: string, at: number): string {
  const from = text.lastIndexOf('\n', at - AROUND_CHARS) + 1
  return text.slice(at - from > 2 * AROUND_CHARS ? at : from, at + 2 * AROUND_CHARS)
}

/** Which of the wanted beginnings a line of the text has. */
function linesAmong(text: string, wanted: ReadonlySet<string>): Set<string> {
  const stands = new Set<string>()
  for (let at = 0; at <= text.length && stands.size < wanted.size; ) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    const line = begun(text.slice(at, Math.min(end, at + CAP_LINE_CHARS + 1)))
    if (wanted.has(line)) stands.add(line)
    at = end + 1
  }
  return stands
}
