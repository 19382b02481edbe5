import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runOnData } from '../bench/data-bench.ts'
import { recallData } from '../bench/recall-data.ts'
import { makeHome } from '../support/home.ts'

const question = { id: 'q', query: 'where do owls sleep', category: 'plain', needs: [['owls.md']] }
const store = {
  store: 's',
  memories: [{ file: 'owls.md', name: 'Owls', description: 'Where they sleep', body: 'In the barn.' }],
  queries: [question],
}

const run = (text: string) => {
  const data = join(makeHome().dir, 'data.jsonl')
  writeFileSync(data, text)
  return runOnData(recallData, { data })
}

describe('the bench on memories and questions', () => {
  it('reads a file that begins with a byte order mark', async () => {
    expect(await run(`\uFEFF${JSON.stringify(store)}\n`)).toMatchObject({
      outcome: { figures: { 'recall@5': { value: 100 } } },
    })
  })

  it('says which line is no JSON, and which question needs nothing though it can be answered', async () => {
    await expect(run(`${JSON.stringify(store)}\n{"store": \n`)).rejects.toThrow(/data\.jsonl, line 2: not JSON: /)
    const odd = { ...store, queries: [{ ...question, needs: [] }] }
    await expect(run(JSON.stringify(odd))).rejects.toThrow(/line 1: queries\.0\.needs: expected a file at least/)
    const none = { ...store, queries: [question, { ...question, category: 'unanswerable', needs: [] }] }
    expect(await run(JSON.stringify(none))).toMatchObject({ outcome: { details: { questions: 2 } } })
  })
})
