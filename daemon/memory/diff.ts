/** What differs between two texts, for a person to look over: common beginning and end left out. Pure. */

const CONTEXT_LINES = 2

export function diffLines(before: string | undefined, after: string | undefined): string {
  const old = before?.split('\n') ?? []
  const now = after?.split('\n') ?? []
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  return [
    ...old.slice(Math.max(0, head - CONTEXT_LINES), head).map((line) => `  ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `- ${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+ ${line}`),
    ...now.slice(now.length - tail, now.length - tail + CONTEXT_LINES).map((line) => `  ${line}`),
  ].join('\n')
}
