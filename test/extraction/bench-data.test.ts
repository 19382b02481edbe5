import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runOnData } from '../bench/data-bench.ts'
import { statements } from '../bench/statements.ts'

const item = {
  id: 'a',
  lang: 'en',
  ts: '2026-05-12T10:15:00+02:00',
  prev_assistant: null,
  message: 'code freeze starts tomorrow',
  durable: true,
  type: 'project',
  must_include: ['freeze'],
  must_not_include: ['thaw'],
  note: '[date: tomorrow => 2026-05-13]',
}
const idle = { ...item, id: 'b', message: 'thanks!', durable: false, type: null, must_include: [], note: '' }

describe('the bench on labelled messages', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'memoryd-bench-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const dataOf = (...lines: unknown[]) => {
    const path = join(folder, 'data.jsonl')
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    return path
  }

  it('gives the shares, and every item for scoring again', async () => {
    const out = join(folder, 'items.jsonl')
    const wrongDay = { ...item, id: 'c', type: 'user', note: '[date: tomorrow => 2026-05-14]' }
    const { outcome } = await runOnData(statements, { data: dataOf(item, idle, wrongDay), out })
    expect(outcome).toEqual({
      figures: {
        precision: { value: 100 },
        recall: { value: 100 },
        type: { value: 50 },
        dates: { value: 50 },
        kept: { value: 100 },
        'left out': { value: 100 },
        'silent when nothing is said': { value: 100 },
        'secrets saved': { value: 0 },
      },
      details: { messages: 3 },
    })
    const items = readFileSync(out, 'utf8').trim().split('\n')
    expect(items.map((line) => JSON.parse(line)).map(({ id, found }) => ({ id, found }))).toEqual([
      { id: 'a', found: true },
      { id: 'b', found: false },
      { id: 'c', found: true },
    ])
  })

  it('says which line does not fit', async () => {
    await expect(runOnData(statements, { data: dataOf(item, { ...item, durable: 'yes' }) })).rejects.toThrow(
      /data\.jsonl, line 2: durable: /,
    )
  })
})
