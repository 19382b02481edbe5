/** Whether a folder lies in one that the settings name private, by whatever way either is reached. */
import { realpathSync } from 'node:fs'
import { normalize, sep } from 'node:path'

/** The private folder that covers one of these, if any does. */
export function privateFolder(named: readonly string[], folders: readonly string[]): string | undefined {
  if (named.length === 0) return undefined
  const places = folders.flatMap(waysTo)
  return named.find((secret) => waysTo(secret).some((from) => places.some((place) => covers(from, place))))
}

export function covers(folder: string, place: string): boolean {
  return folder === sep || place === folder || place.startsWith(folder + sep)
}

/** As it is written, and with its links followed where it exists. */
function waysTo(path: string): string[] {
  const written = normalize(path).replace(/(.)\/+$/, '$1')
  try {
    return [written, realpathSync(written)]
  } catch {
    return [written]
  }
}
