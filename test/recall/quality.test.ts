import { describe, expect, it } from 'vitest'
import { runOnData } from '../bench/data-bench.ts'
import { ndcg, recallAt, recallData, reciprocalRank } from '../bench/recall-data.ts'

describe('finding memories without a model', () => {
  it('holds its goals on the set of coding memories', async () => {
    const { outcome } = await runOnData(recallData, { data: 'test/fixtures/recall/coding.jsonl' })
    if ('failed' in outcome) throw new Error(outcome.failed)
    expect(outcome.figures['recall@5']?.value).toBeGreaterThanOrEqual(92)
    expect(outcome.figures.silent?.value).toBeGreaterThanOrEqual(85)
    expect(outcome.figures['lost by silence']?.value).toBeLessThanOrEqual(2)
    expect(outcome.details).toMatchObject({ stores: 1, questions: 120 })
  })
})

describe('the measures', () => {
  const query = { needs: [['a', 'b'], ['c']] }

  it('count groups, not files', () => {
    expect(recallAt(5, ['x', 'b', 'a'], query)).toBe(0.5)
    expect(recallAt(1, ['c', 'a'], query)).toBe(0.5)
    expect(recallAt(5, ['c', 'a'], query)).toBe(1)
  })

  it('know the first useful file', () => {
    expect(reciprocalRank(['x', 'c'], query)).toBe(0.5)
    expect(reciprocalRank(['x'], query)).toBe(0)
  })

  it('gain once for a group', () => {
    expect(ndcg(['a', 'c'], query)).toBe(1)
    expect(ndcg(['a', 'b', 'c'], query)).toBeCloseTo((1 + 0.5) / (1 + 1 / Math.log2(3)))
  })
})
