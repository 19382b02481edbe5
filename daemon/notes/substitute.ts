/** Puts values into a text, once: what a value says is never looked at again, and no character of it means anything. Pure. */

const NAME = /\{\{[ \t]{0,8}([A-Za-z][A-Za-z0-9_]{0,63})[ \t]{0,8}\}\}/g

/** Names that nobody knows stay as they are. */
export function substitute(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(NAME, (whole, name: string) => (Object.hasOwn(values, name) ? (values[name] as string) : whole))
}

export function names(text: string): Set<string> {
  return new Set([...text.matchAll(NAME)].map(([, name]) => name as string))
}
