/** Text that has to stand on one line of an index, a manifest or a front matter. Pure. */

/** Every run of white space, control characters and what is no character becomes one space: nothing can start a line of its own. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\uFFFE\uFFFF]+/gu, ' ').trim()
}

/** At most `maxChars` code points, cut at a word where there is one in the second half, with … for what is gone. */
export function shorten(text: string, maxChars: number): string {
  const line = oneLine(text)
  const chars = [...line]
  if (chars.length <= maxChars) return line
  const cut = chars.slice(0, Math.max(0, maxChars - 1)).join('')
  const atWord = chars[maxChars - 1] === ' ' ? cut.length : cut.lastIndexOf(' ')
  return `${(atWord > cut.length / 2 ? cut.slice(0, atWord) : cut).replace(/[\s,;:.\-–—]+$/, '')}…`
}
