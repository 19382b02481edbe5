/** Looks for lines in many files as the run sees them, and tells what was found. Decides no access. */
import type { Clock } from '../platform/clock.ts'
import { CAP_LINE_CHARS, type CleanTexts } from './clean-text.ts'
import { type Denied, type Failed, isDenied, isFailed } from './denied.ts'
import { findLines, type Match, type Matches, type Matching, type Text } from './matching.ts'
import { namePattern } from './name-pattern.ts'
import type { Pace } from './pace.ts'
import type { Place } from './places.ts'
import type { FoundFile, Workspace } from './workspace.ts'

export type Surroundings = {
  workspace: Workspace
  clean: CleanTexts
  pace: Pace
  clock: Clock
  signal: AbortSignal
  searchPath: string
}

/** All texts of one search together, and how much one file may have. */
const CAP_SEARCHED_BYTES = 64_000_000
const CAP_FILE_BYTES = 32_000_000
const CAP_FILES = 20_000

export type Telling = { mode: 'files' | 'count' | 'lines'; named: boolean; numbered: boolean }

export function tell(matches: readonly Match[], { mode, named, numbered }: Telling): string {
  const files = new Map<string, number>()
  for (const { path } of matches) files.set(path, (files.get(path) ?? 0) + 1)
  if (mode === 'files') return [...files.keys()].map((path) => `${path}\n`).join('')
  if (mode === 'count') return [...files].map(([path, count]) => `${path}:${count}\n`).join('')
  return matches
    .map(({ path, line, text }) => {
      // One line of a transcript may be a megabyte.
      const shown = text.length > CAP_LINE_CHARS ? `${text.slice(0, CAP_LINE_CHARS)}…` : text
      return `${named ? `${path}:` : ''}${numbered ? `${line}:` : ''}${shown}\n`
    })
    .join('')
}

/** `lines`: how many are told with their words. */
type Searched = Surroundings & { glob?: string | undefined; lines: number }

/** Lines in all files at or below the places. */
export async function search(
  places: readonly Place[],
  what: Matching,
  at: Searched,
): Promise<Matches | Denied | Failed> {
  const files: FoundFile[] = []
  let cut = false
  const only = at.glob === undefined ? undefined : namePattern(at.glob)
  if (only && isDenied(only)) return only
  const isWanted = ({ within }: FoundFile) =>
    !only || only.fits(within) || only.fits(within.slice(within.lastIndexOf('/') + 1))
  for (const place of places) {
    const found = await at.workspace.walk(place, at.pace)
    if (isDenied(found) || isFailed(found)) return found
    cut ||= found.cut
    const alone = found.files.length === 1 && found.files[0]?.within === ''
    for (const file of found.files) {
      const late = await at.pace()
      if (late) return late
      if (files.length >= CAP_FILES) cut = true
      else if (alone || isWanted(file)) files.push(file)
    }
  }
  if (files.length === 1 && files[0]) {
    // A file that was named: why it cannot be read is worth telling.
    const named = await at.workspace.read(files[0].place, CAP_FILE_BYTES)
    if (isDenied(named) || isFailed(named)) return named
  }
  const found = await findLines(texts(files, at), what, at)
  if (isDenied(found) || isFailed(found)) return found
  const late = await at.pace()
  if (late) return late
  const all = { matches: found.matches, cut: found.cut || cut }
  if (at.lines === 0) return all
  const placeOf = new Map(files.map((file) => [file.path, file.place]))
  const some = { matches: all.matches.slice(0, at.lines), cut: all.cut || all.matches.length > at.lines }
  return at.clean.lines(some, (path) => textAt(placeOf.get(path), at), at.pace)
}

async function textAt(place: Place | undefined, { workspace }: Searched): Promise<string | undefined> {
  const seen = place && (await workspace.read(place, CAP_FILE_BYTES))
  return !seen || isDenied(seen) || isFailed(seen) ? undefined : seen.text
}

async function* texts(files: readonly FoundFile[], at: Searched): AsyncIterable<Text> {
  let bytesLeft = CAP_SEARCHED_BYTES
  for (const file of files) {
    // Empty files are read without a wait: thousands of them would hold everybody up.
    if (bytesLeft <= 0 || (await at.pace())) return
    const seen = await at.workspace.read(file.place, CAP_FILE_BYTES)
    if (isDenied(seen) || isFailed(seen) || seen.text.includes('\0')) continue
    bytesLeft -= seen.text.length
    yield { path: file.path, text: seen.text }
  }
}
