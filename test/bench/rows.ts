/** Every row, in the order of the table. A new one is a file and a line here. */
import { busy } from './busy.ts'
import { command } from './command.ts'
import { compacting, estimate } from './context.ts'
import { cost } from './cost.ts'
import { firstRecall } from './first-recall.ts'
import { growth } from './growth.ts'
import { health } from './health.ts'
import { hook } from './hook.ts'
import { idle } from './idle.ts'
import { many } from './many.ts'
import { index, list } from './memories.ts'
import { reading } from './reading.ts'
import { manyRecalled, recall } from './recall.ts'
import { remember } from './remember.ts'
import type { Row } from './row.ts'
import { search } from './search.ts'
import { start } from './start.ts'
import { turnsAtOnce } from './turns-at-once.ts'
import { underLoad } from './under-load.ts'
import { write } from './write.ts'

export const rows: readonly Row[] = [
  health,
  index,
  list,
  write,
  remember,
  recall,
  manyRecalled,
  firstRecall,
  underLoad,
  busy,
  turnsAtOnce,
  hook,
  reading,
  search,
  cost,
  estimate,
  compacting,
  command,
  start,
  idle,
  many,
  growth,
]

export type Selection = { rows: Row[] } | { unknown: string[] }

/** No name selects all. */
export function selectRows(names: readonly string[]): Selection {
  const unknown = names.filter((name) => !rows.some((row) => row.name.startsWith(name)))
  if (unknown.length > 0) return { unknown }
  return { rows: rows.filter((row) => names.length === 0 || names.some((name) => row.name.startsWith(name))) }
}
