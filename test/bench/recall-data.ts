/**
 * How well memories are found without a model: stores with questions and the right files in, shares out. Ranked by the code the
 * daemon ships, beside plain full-text search of the same texts. Items hold what was found, so that anyone can score again.
 */
import { z } from 'zod'
import { createWordIndex } from '../../daemon/recall/corpus.ts'
import { ENOUGH, rank } from '../../daemon/recall/rank.ts'
import type { DataBench } from './data-bench.ts'
import { createPlainSearch } from './plain-search.ts'
import { quantile } from './rounds.ts'
import type { Goal } from './row.ts'

const UNANSWERABLE = 'unanswerable'

const Question = z
  .object({ id: z.string(), query: z.string(), category: z.string(), needs: z.array(z.array(z.string())) })
  .refine(({ category, needs }) => category === UNANSWERABLE || needs.length > 0, {
    path: ['needs'],
    message: `expected a file at least: only what is ${UNANSWERABLE} needs none`,
  })

const RecallStore = z.object({
  store: z.string(),
  memories: z.array(z.object({ file: z.string(), name: z.string(), description: z.string(), body: z.string() })),
  queries: z.array(Question),
})
type RecallStore = z.infer<typeof RecallStore>
type Query = RecallStore['queries'][number]

const SHOWN = 5
const LOOKED_AT = 10

export type Answered = {
  store: string
  id: string
  category: string
  query: string
  needs: string[][]
  /** Best first. */
  ranked: { file: string; score: number; fit: number; words: string[] }[]
  /** Whether a caller gets nothing. */
  silent: boolean
  /** What plain full-text search finds. */
  plain: string[]
  rankUs: number
}

export function answer(store: RecallStore): { answers: Answered[]; bytes: number } {
  const before = heapBytes()
  const index = createWordIndex()
  for (const memory of store.memories) index.put(memory)
  const bytes = heapBytes() - before
  const plain = createPlainSearch(store.memories)
  const answers = store.queries.map(({ id, query, category, needs }): Answered => {
    const begunMs = performance.now()
    const { fit } = rank(query, index, { limit: LOOKED_AT })
    const rankUs = 1000 * (performance.now() - begunMs)
    const { explained: ranked = [] } = rank(query, index, { limit: LOOKED_AT, explain: true })
    const found = { ranked, silent: fit < ENOUGH, plain: plain.search(query, LOOKED_AT), rankUs }
    return { store: store.store, id, category, query, needs, ...found }
  })
  plain.close()
  return { answers, bytes }
}

function heapBytes(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** The share of groups that one of the first files meets. */
export function recallAt(k: number, files: readonly string[], { needs }: Pick<Query, 'needs'>): number {
  const first = new Set(files.slice(0, k))
  return needs.filter((group) => group.some((file) => first.has(file))).length / needs.length
}

export function reciprocalRank(files: readonly string[], { needs }: Pick<Query, 'needs'>): number {
  const useful = new Set(needs.flat())
  const at = files.findIndex((file) => useful.has(file))
  return at < 0 ? 0 : 1 / (at + 1)
}

/** A file gains once for a group that none before it has met. */
export function ndcg(files: readonly string[], { needs }: Pick<Query, 'needs'>): number {
  const open = new Set(needs)
  let gained = 0
  files.slice(0, LOOKED_AT).forEach((file, at) => {
    const met = [...open].filter((group) => group.includes(file))
    if (met.length > 0) gained += 1 / Math.log2(at + 2)
    for (const group of met) open.delete(group)
  })
  const ideal = needs.slice(0, LOOKED_AT).reduce((sum, _, at) => sum + 1 / Math.log2(at + 2), 0)
  return gained / ideal
}

export function figuresOf(answers: readonly Answered[]) {
  const asked = answers.filter(({ category }) => category !== UNANSWERABLE)
  const unanswerable = answers.filter(({ category }) => category === UNANSWERABLE)
  const mean = (of: (each: Answered) => number) => percent(asked.map(of))
  const ordered = ({ ranked }: Answered) => ranked.map(({ file }) => file)
  const given = (each: Answered) => (each.silent ? [] : ordered(each))
  const recall = mean((each) => recallAt(SHOWN, given(each), each))
  return {
    'recall@5': recall,
    'recall@10': mean((each) => recallAt(LOOKED_AT, given(each), each)),
    MRR: mean((each) => reciprocalRank(given(each), each)),
    'nDCG@10': mean((each) => ndcg(given(each), each)),
    silent: percent(unanswerable.map(({ silent }) => (silent ? 1 : 0))),
    'lost by silence': { value: mean((each) => recallAt(SHOWN, ordered(each), each)).value - recall.value },
    'plain recall@5': mean((each) => recallAt(SHOWN, each.plain, each)),
    'plain MRR': mean((each) => reciprocalRank(each.plain, each)),
  }
}

/** Of nothing, all: without unanswerable questions none was answered. */
function percent(shares: readonly number[]): { value: number } {
  return { value: shares.length === 0 ? 100 : (100 * shares.reduce((sum, each) => sum + each, 0)) / shares.length }
}

function byCategory(answers: readonly Answered[]) {
  const categories = [...new Set(answers.map(({ category }) => category))].sort()
  return categories.map((category) => {
    const own = answers.filter((each) => each.category === category)
    const figures = figuresOf(own)
    return {
      name: `${category} (${own.length})`,
      value: category === UNANSWERABLE ? figures.silent : figures['recall@5'],
    }
  })
}

export const recallData: DataBench = {
  name: 'recall',
  what: 'memories found for questions, without a model; beside it plain FTS5 BM25. By category: recall@5, or silence',
  goals: {
    'recall@5': { unit: '%', atLeast: 83 },
    'recall@10': { unit: '%' },
    MRR: { unit: '%', atLeast: 75 },
    'nDCG@10': { unit: '%' },
    silent: { unit: '%', atLeast: 65 },
    'lost by silence': { unit: '%', atMost: 2 },
    'plain recall@5': { unit: '%' },
    'plain MRR': { unit: '%' },
    'rank p50': { unit: 'µs' },
    'rank p99': { unit: 'µs' },
    'index memory': { unit: 'MB' },
  },
  item: RecallStore,
  async run(items) {
    const stores = items.map((item) => RecallStore.parse(item))
    // Once for nothing: the first questions would pay for compiling.
    for (const store of stores) answer(store)
    const done = stores.map(answer)
    const answers = done.flatMap((each) => each.answers)
    const parts = byCategory(answers)
    const times = answers.map(({ rankUs }) => rankUs)
    return {
      figures: {
        ...figuresOf(answers),
        'rank p50': { value: quantile(times, 0.5) },
        'rank p99': { value: quantile(times, 0.99) },
        'index memory': { value: Math.max(0, ...done.map(({ bytes }) => bytes)) / 1e6 },
        ...Object.fromEntries(parts.map(({ name, value }) => [name, value])),
      },
      parts: Object.fromEntries(parts.map(({ name }): [string, Goal] => [name, { unit: '%' }])),
      details: { stores: stores.length, questions: answers.length },
      items: answers,
    }
  },
}
