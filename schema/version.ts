/** The version in package.json, the only place it is written. */
import { readFileSync } from 'node:fs'

/** Sources stand in `schema/`, built files in `dist/`: the package is one folder up from both. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}
