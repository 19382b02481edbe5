/**
 * Which names of files give a credential away: a person may have made such a file, and then its name is told to nobody. What is
 * in the journal has none, so that only others have to be looked through, each once.
 */
import { nameWithoutCredential, type Redact } from './judge.ts'

export type TellingNames = {
  /** Looks through a name and remembers it if it gives something away. */
  isTelling(file: string): Promise<boolean>
  /** As far as it was looked through. */
  isKnownTelling(file: string): boolean
}

export function createTellingNames(redact: Redact): TellingNames {
  const telling = new Set<string>()
  return {
    isTelling: async (file) => {
      if (telling.has(file)) return true
      if ((await nameWithoutCredential(file, redact)) === file) return false
      telling.add(file)
      return true
    },
    isKnownTelling: (file) => telling.has(file),
  }
}
