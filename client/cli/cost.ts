/** `memoryd cost`. */
import pc from 'picocolors'
import type { StrictClient } from '../client.ts'
import type { Context } from './context.ts'
import { asked } from './numbers.ts'
import { asPerson } from './person.ts'

export type CostOptions = { by?: 'day' | 'project' | 'job'; days?: number }

type Cost = Awaited<ReturnType<StrictClient['cost']>>
type Item = Cost['items'][number]

const BAR_CHARACTERS = 24

export async function cost(context: Context, { by = 'day', days = 30 }: CostOptions): Promise<void> {
  const found = await asPerson(context, (client) => client.cost({ by, days: asked(days) }))
  const paint = pc.createColors(context.print.colour === 'on')
  context.print.result(found, () => {
    const { items, today, unpriced } = found
    const rows = items.map((item) => [nameOf(item), dollars(item.usd), tokens(item), hits(item), calls(item)])
    const bars = context.print.colour === 'on' && by === 'day' ? barsOf(items) : []
    return [
      ...table([[by, 'dollars', 'tokens in / out', 'from cache', 'calls'], ...rows]).map((line, n) => {
        if (n === 0) return paint.dim(line)
        const bar = bars[n - 1]
        return bar ? `${line}  ${paint.cyan(bar)}` : line
      }),
      ...(items.length === 0 ? ['no model was called'] : []),
      `today ${dollars(today.usd)} of ${dollars(today.capUsd)}, ${short(today.tokens)} of ${short(today.capTokens)} uncached tokens`,
      ...(unpriced.length > 0
        ? [`no price is known for ${unpriced.join(', ')}: only tokens are counted; set "models" in the configuration`]
        : []),
    ]
  })
}

/** One bar for each line, the longest for the dearest. */
function barsOf(items: readonly Item[]): string[] {
  const most = Math.max(...items.map(({ usd }) => usd))
  if (most === 0) return []
  return items.map(({ usd }) => (usd === 0 ? '' : '█'.repeat(Math.max(1, Math.round((usd / most) * BAR_CHARACTERS)))))
}

function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join('  '),
  )
}

/** A folder may have a line break in its name; a table must not be made to say more than there is. */
function nameOf({ key }: Item): string {
  return key === '' ? '(no project)' : key.replace(/[\r\n]/g, '\ufffd')
}

/** Small sums are what this is about: a tenth of a cent must not look like nothing. */
function dollars(usd: number): string {
  return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toFixed(4)}`
}

function tokens({ input, cacheRead, cacheWrite, output }: Item): string {
  return `${short(input + cacheRead + cacheWrite)} / ${short(output)}`
}

function hits({ hitPercent }: Item): string {
  return hitPercent === null ? '-' : `${hitPercent.toFixed(0)} %`
}

function calls({ calls, unsettled }: Item): string {
  return unsettled > 0 ? `${calls} (${unsettled} open)` : String(calls)
}

function short(count: number): string {
  if (count < 10_000) return String(count)
  return count < 10_000_000 ? `${Math.round(count / 1_000)}k` : `${(count / 1_000_000).toFixed(1)}M`
}
