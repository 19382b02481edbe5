/** `memoryd search`. */
import pc from 'picocolors'
import type { Context } from './context.ts'
import { asked } from './numbers.ts'
import { asPerson } from './person.ts'

type Item = { snippet: string; hits: { from: number; to: number }[] }

export async function search(context: Context, q: string, { cwd, lines }: { cwd: string; lines: number }) {
  const limit = asked(lines)
  const found = await asPerson(context, (client) => client.search({ q, cwd, limit }))
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(found, () => {
    if (found.skipped) return ['memory is off here']
    if (found.items.length === 0) return ['nobody said anything of it in the sessions of this project']
    return found.items.flatMap((item, n) => [
      ...(n === 0 ? [] : ['']),
      `${paint.bold(item.role)}  ${timeOf(item.at)}  ${paint.dim(`${item.harness} session ${item.sessionId}`)}`,
      `  ${marked(item, paint.yellow)}`,
    ])
  })
}

function timeOf(at: string | null): string {
  return at === null ? 'at some time' : at.slice(0, 16).replace('T', ' ')
}

/** The snippet is what somebody's program printed: colours in it are not ours to show. */
function marked({ snippet, hits }: Item, mark: (text: string) => string): string {
  let from = 0
  const parts = hits.flatMap((hit) => {
    const before = plain(snippet.slice(from, hit.from))
    from = hit.to
    return [before, mark(plain(snippet.slice(hit.from, hit.to)))]
  })
  return [...parts, plain(snippet.slice(from))].join('')
}

function plain(text: string): string {
  return text.replaceAll('\u001b', '\ufffd')
}
