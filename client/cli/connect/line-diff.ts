/** The lines in which two texts differ, as `diff` shows them. Pure. */

const CONTEXT = 2
/** Of settings nobody has more; of longer ones only the differing middle is compared. */
const MOST_CELLS = 4_000_000

export function lineDiff(before: string, after: string): string[] {
  const old = linesOf(before)
  const now = linesOf(after)
  const marked = compare(old, now)
  const shown = new Set<number>()
  for (const [n, line] of marked.entries())
    if (!line.startsWith(' ')) for (let at = n - CONTEXT; at <= n + CONTEXT; at++) shown.add(at)
  return marked.flatMap((line, n) => (shown.has(n) ? [line] : shown.has(n - 1) ? ['...'] : []))
}

function linesOf(text: string): string[] {
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function compare(old: readonly string[], now: readonly string[]): string[] {
  if (old.length * now.length > MOST_CELLS) return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)]
  const width = now.length + 1
  const longest = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      longest[i * width + j] =
        old[i] === now[j]
          ? (longest[(i + 1) * width + j + 1] as number) + 1
          : Math.max(longest[(i + 1) * width + j] as number, longest[i * width + j + 1] as number)
  const marked: string[] = []
  let i = 0
  let j = 0
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
    } else if (
      i < old.length &&
      (j >= now.length || (longest[(i + 1) * width + j] as number) >= (longest[i * width + j + 1] as number))
    )
      marked.push(`-${old[i++]}`)
    else marked.push(`+${now[j++]}`)
  }
  return marked
}
