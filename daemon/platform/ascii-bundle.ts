/**
 * Build step: `ascii-bundle.js <file>…` writes bundles in ASCII alone. A single other character makes V8 hold two bytes for each
 * of a text, for as long as the daemon runs, and decode all of it with every start. Runs when loaded.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const OTHER = /[^\0-\x7f]/g
/** Where an escape would be taken for something else. */
const NOT_THERE = /(?<!\\)(?:\\\\)*\\[^\0-\x7f]|String\.raw`[^`]*[^\0-\x7f]/

for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, 'utf8')
  const at = NOT_THERE.exec(text)?.index
  if (at !== undefined) throw new Error(`${file}: cannot be written in ASCII near ${text.slice(at, at + 80)}`)
  writeFileSync(file, text.replace(OTHER, escapeOf))
}

/** In texts and patterns the same; one beyond the plane of most is two of them there, too. */
function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
