/** The lines in which two texts differ, with some around them, as `diff` shows them. Pure. */

const CONTEXT = 2
/** Settings have fewer lines; of larger texts all lines are shown. */
const MAX_CELLS = 4_000_000

export function lineDiff(before: string, after: string): string[] {
  const marked = compare(linesOf(before), linesOf(after))
  const isShown = (n: number) =>
    marked.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1).some((line) => !line.startsWith(' '))
  return marked.flatMap((line, n) => (isShown(n) ? [line] : n > 0 && isShown(n - 1) ? ['...'] : []))
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

function compare(old: readonly string[], now: readonly string[]): string[] {
  if (old.length * now.length > MAX_CELLS) return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)]
  // common[i][j]: how many lines the rest of `old` from i on and of `now` from j on have in common.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1))
  const at = (i: number, j: number) => common[i]?.[j] ?? 0
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      (common[i] as Uint32Array)[j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const marked: string[] = []
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    if (i < old.length && old[i] === now[j]) {
      marked.push(` ${old[i++]}`)
      j++
    } else if (i < old.length && (j === now.length || at(i + 1, j) >= at(i, j + 1))) marked.push(`-${old[i++]}`)
    else marked.push(`+${now[j++]}`)
  }
  return marked
}
