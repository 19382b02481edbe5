/** `npm run bench`: runs the rows, one after the other, and prints what they measured. Runs when loaded. */
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type DataBench, runOnData } from './data-bench.ts'
import { recallData } from './recall-data.ts'
import { misses, type Result, table, toJson } from './report.ts'
import type { Row } from './row.ts'
import { rows, selectRows } from './rows.ts'
import { statements } from './statements.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

const dataBenches: readonly DataBench[] = [statements, recallData]

const usage = `usage: npm run bench -- [row…] [--quick] [--strict] [--out <file>]
       npm run bench -- <data bench> --data <file.jsonl> [--strict] [--out <file>]

  row            only the rows whose name starts so; all of them without
  --quick        fewer rounds and shorter waits: a first look, not a result
  --strict       exit with 1 when a goal is missed
  --out <file>   where the figures, and the times behind them, go as JSON (dist/bench.json);
                 of a data bench, one line per item instead (nowhere when not given)
  --data <file>  the labelled examples a data bench measures on, one JSON object a line

rows:
${listed(rows)}

data benches:
${listed(dataBenches)}
`

function listed(named: readonly { name: string; what: string }[]): string {
  return named.map(({ name, what }) => `  ${name.padEnd(14)} ${what}`).join('\n')
}

const exitCodes = { ok: 0, missed: 1, usage: 2, interrupted: 130 }

function parse() {
  return parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      out: { type: 'string' },
      data: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
}

async function main(): Promise<number> {
  let given: ReturnType<typeof parse>
  try {
    given = parse()
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${usage}`)
    return exitCodes.usage
  }
  const { values, positionals } = given
  if (values.help) {
    process.stdout.write(usage)
    return exitCodes.ok
  }
  const onData = dataBenches.find(({ name }) => name === positionals[0])
  // Recall is both: quick over the socket, and good on data.
  const isRow = rows.some(({ name }) => name.startsWith(positionals[0] ?? ''))
  if (values.data !== undefined || (onData && !isRow)) return measureOnData(onData, values)
  const selection = selectRows(positionals)
  if ('unknown' in selection) {
    process.stderr.write(`bench: no row starts with ${selection.unknown.join(', ')}\n\n${usage}`)
    return exitCodes.usage
  }

  const pace = values.quick ? 'quick' : 'full'
  const results: Result[] = []
  for (const row of selection.rows) {
    process.stderr.write(`${row.name} … (load ${loadavg()[0]?.toFixed(2)})\n`)
    const outcome = await measure(row, pace)
    if ('failed' in outcome) process.stderr.write(`${row.name} failed: ${outcome.failed}\n`)
    results.push({ row, outcome })
  }
  process.stdout.write(`\n${table(results)}\n`)
  const out = values.out ?? 'dist/bench.json'
  writeFileSync(out, toJson(results, { at: new Date().toISOString(), pace }))
  process.stdout.write(`\nwritten to ${resolve(out)}\n`)
  const broken = results.some(({ outcome }) => 'failed' in outcome)
  return broken || (values.strict && misses(results) > 0) ? exitCodes.missed : exitCodes.ok
}

async function measureOnData(
  bench: DataBench | undefined,
  { data, out, strict }: { data?: string; out?: string; strict: boolean },
): Promise<number> {
  if (!bench || data === undefined) {
    process.stderr.write(`bench: a data bench needs its name and --data <file.jsonl>\n\n${usage}`)
    return exitCodes.usage
  }
  try {
    const result = await runOnData(bench, { data, out })
    process.stdout.write(`\n${table([result])}\n`)
    if (out !== undefined) process.stdout.write(`\nitems written to ${resolve(out)}\n`)
    return strict && misses([result]) > 0 ? exitCodes.missed : exitCodes.ok
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n`)
    return exitCodes.missed
  }
}

/** A row that breaks is part of the result: the others have cost minutes. */
async function measure(row: Row, pace: Workbench['pace']): Promise<Result['outcome']> {
  const bench = createWorkbench({ pace })
  const onSignal = () => void bench.close().finally(() => process.exit(exitCodes.interrupted))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal)
  try {
    return await row.run(bench)
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  } finally {
    await bench.close()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}

process.exitCode = await main()
