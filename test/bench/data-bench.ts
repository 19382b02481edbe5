/** Benches that measure on a file of labelled examples, given by path: such data is never part of the project. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { ZodType } from 'zod'
import type { Result } from './report.ts'
import type { Goal, Measured } from './row.ts'

export type DataBench = {
  name: string
  what: string
  goals: Record<string, Goal>
  /** One line of the file. */
  item: ZodType
  /** `parts` are figures besides the goals' that only the data can name: they are shown. */
  run(items: readonly unknown[]): Promise<Measured & { items: readonly object[]; parts?: Record<string, Goal> }>
}

/** A line that does not fit says which one it is; `out` gets one line per item, in the order of the file. */
export async function runOnData(
  bench: DataBench,
  { data, out }: { data: string; out?: string | undefined },
): Promise<Result> {
  const { items, parts, ...measured } = await bench.run(linesOf(data, bench))
  const goals = { ...bench.goals, ...parts }
  const row = { name: bench.name, what: bench.what, yardstick: undefined, goals, run: unreachable }
  if (out !== undefined) writeFileSync(out, items.map((item) => `${JSON.stringify(item)}\n`).join(''))
  return { row, outcome: measured }
}

function linesOf(path: string, { item }: DataBench): unknown[] {
  const lines = readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .split('\n')
  return lines.flatMap((line, n) => {
    if (line.trim() === '') return []
    const parsed = item.safeParse(parse(line, `${path}, line ${n + 1}`))
    if (parsed.success) return [parsed.data]
    const [issue] = parsed.error.issues
    throw new Error(`${path}, line ${n + 1}: ${issue?.path.join('.') || 'the line'}: ${issue?.message}`)
  })
}

function parse(line: string, place: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new Error(`${place}: not JSON: ${(cause as Error).message}`, { cause })
  }
}

function unreachable(): never {
  throw new Error('a bench on data runs on its file')
}
