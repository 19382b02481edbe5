/** What was said, in few words: one line, and of what is left out whatever one could look for later. Pure. */

/** Paths, names of files, code in backticks, options, links, numbers, names with a capital or an underscore within. */
const IDENTIFIERS =
  /`[^`\n]{1,120}`|https?:\/\/[^\s)>\]]{1,300}|(?:[\w.@~-]{0,80}\/){1,20}[\w.@-]{1,80}|\b[\w-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,9}\b|--?[A-Za-z][\w-]{1,60}(?:=[^\s,;]{1,60})?|\b[A-Za-z]\w{0,60}(?:_\w{1,60}|[a-z][A-Z]\w{0,60})|#?\b\d[\d.,:%/-]{0,40}\w{0,12}/g

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** Cut where a word ends if there is one not far back. */
export function short(text: string, chars: number): string {
  const line = oneLine(text)
  if (line.length <= chars) return line
  const cut = line.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
  const space = cut.lastIndexOf(' ')
  return `${space > chars * 0.7 ? cut.slice(0, space) : cut}…`
}

/** The beginning, and the identifiers of the rest. */
export function shortWithNames(text: string, chars: number, namesChars: number): string {
  const line = oneLine(text)
  const head = short(line, chars)
  if (head === line) return line
  const rest = line.slice(head.length - 1)
  const found = new Set<string>()
  let room = namesChars
  for (const [name] of rest.slice(0, 50_000).matchAll(IDENTIFIERS)) {
    const plain = name.replace(/[.,:/-]+$/, '')
    if (plain.length < 2 || found.has(plain) || head.includes(plain)) continue
    room -= plain.length + 2
    if (room < 0) break
    found.add(plain)
  }
  return found.size === 0 ? head : `${head} [${[...found].join(', ')}]`
}
