/** Looks for lines in many files as the run sees them, and tells what was found. Decides no access. */
import type { Clock } from '../platform/clock.ts'
import { compileGlob } from '../platform/glob.ts'
import { type Denied, type Failed, isDenied, isFailed } from './denied.ts'
import { findLines, type Match, type Matches, type Matching, type Text } from './matching.ts'
import type { Place } from './places.ts'
import type { FoundFile, Workspace } from './workspace.ts'

export type Surroundings = { workspace: Workspace; clock: Clock; signal: AbortSignal; searchPath: string }

/** All texts of one search together, and how much one file may have. */
const CAP_SEARCHED_BYTES = 64_000_000
const CAP_FILE_BYTES = 32_000_000

export type Telling = { mode: 'files' | 'count' | 'lines'; named: boolean; numbered: boolean }

/** One line of a transcript may be a megabyte. Cut at its end only: what marks a part as private stands before it. */
const CAP_LINE_CHARS = 500

export function tell(matches: readonly Match[], { mode, named, numbered }: Telling): string {
  const files = new Map<string, number>()
  for (const { path } of matches) files.set(path, (files.get(path) ?? 0) + 1)
  if (mode === 'files') return [...files.keys()].map((path) => `${path}\n`).join('')
  if (mode === 'count') return [...files].map(([path, count]) => `${path}:${count}\n`).join('')
  return matches
    .map(({ path, line, text }) => {
      const shown = text.length > CAP_LINE_CHARS ? `${text.slice(0, CAP_LINE_CHARS)}…` : text
      return `${named ? `${path}:` : ''}${numbered ? `${line}:` : ''}${shown}\n`
    })
    .join('')
}

type Searched = Surroundings & { glob?: string | undefined }

/** Lines in all files at or below the places. */
export async function search(
  places: readonly Place[],
  what: Matching,
  at: Searched,
): Promise<Matches | Denied | Failed> {
  const files: FoundFile[] = []
  let cut = false
  const fits = at.glob === undefined ? undefined : compileGlob(at.glob)
  for (const place of places) {
    const found = await at.workspace.walk(place)
    if (isDenied(found) || isFailed(found)) return found
    cut ||= found.cut
    const alone = found.files.length === 1 && found.files[0]?.within === ''
    const passing = (file: FoundFile) =>
      alone || !fits || fits(file.within) || fits(file.within.slice(file.within.lastIndexOf('/') + 1))
    for (const file of found.files.filter(passing)) files.push(file)
  }
  if (files.length === 1 && files[0]) {
    // A file that was named: why it cannot be read is worth telling.
    const only = await at.workspace.read(files[0].place, CAP_FILE_BYTES)
    if (isDenied(only) || isFailed(only)) return only
  }
  const found = await findLines(texts(files, at), what, at)
  return isDenied(found) || isFailed(found) ? found : { ...found, cut: found.cut || cut }
}

async function* texts(files: readonly FoundFile[], at: Searched): AsyncIterable<Text> {
  let bytesLeft = CAP_SEARCHED_BYTES
  for (const file of files) {
    if (bytesLeft <= 0 || at.signal.aborted) return
    const seen = await at.workspace.read(file.place, CAP_FILE_BYTES)
    if (isDenied(seen) || isFailed(seen) || seen.text.includes('\0')) continue
    bytesLeft -= seen.text.length
    yield { path: file.path, text: seen.text }
  }
}
