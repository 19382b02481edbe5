import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Consolidation } from '../../daemon/memory/consolidate.ts'
import { hashOf } from '../../daemon/platform/safe-folder.ts'
import { memoryRig, person, topic } from '../support/memory.ts'

const RUN = 'dream-20260101T000000Z-0a1b2c3d'

function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir).filter((name) => name.endsWith('.md'))
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]))
}

type Planned = ReturnType<Consolidation<object>['plan']>['writes'][number]

async function ground(options: Parameters<typeof memoryRig>[0] = {}) {
  const rig = await memoryRig(options)
  const { memory, cwd, dir } = rig
  for (const [file, body] of [
    ['a.md', 'The first thing'],
    ['b.md', 'The first thing again'],
    ['c.md', 'Another thing'],
  ] as const)
    await memory.put(cwd, person, { file, content: topic(body, file) }, 'x')
  const before = filesOf(dir)
  const write = (file: string, content: string | null, more: Partial<Planned> = {}): Planned => ({
    file,
    content,
    expect: before[file] === undefined ? null : hashOf(before[file]),
    reason: 'in order',
    from: [],
    ...more,
  })
  const merge = [
    write('a.md', topic('The first thing, said once', 'a.md'), { from: ['b.md'] }),
    write('b.md', null),
    write('n.md', topic('Something new entirely', 'n.md')),
  ]
  const kept: string[] = []
  const consolidate = (writes: Planned[], { losses = [] as string[], mayWrite = true } = {}) =>
    memory.consolidation.consolidate({
      dir,
      runId: RUN,
      plan: () => ({ writes, losses }),
      inTransaction: (_plan, settled) => {
        kept.push(settled.how)
        return () => kept.push('taken back')
      },
      mayWrite: () => mayWrite,
    })
  return { ...rig, before, merge, kept, consolidate, write }
}

describe('a directory that is put in order', () => {
  it('changes as a whole, with what it rests on, and is put back to the byte', async () => {
    const { memory, dir, before, merge, kept, consolidate } = await ground()
    expect(await consolidate(merge)).toMatchObject({ settled: { how: 'applied' } })
    expect(kept).toEqual(['applied'])
    expect(Object.keys(filesOf(dir))).toEqual(['MEMORY.md', 'a.md', 'c.md', 'n.md'])
    expect(memory.history.run(RUN)).toMatchObject({ created: ['n.md'], updated: ['a.md'], deleted: ['b.md'] })
    await memory.undo.run(RUN, 'user')
    expect(filesOf(dir)).toEqual(before)
  })

  it('rests on what those rested on that went into it', async () => {
    const { memory, cwd, write, consolidate, dir } = await ground()
    const evidence = [{ sessionId: 's', messageIds: ['m1'], excerpt: 'as I said', at: '2026-01-01T00:00:00.000Z' }]
    const found = {
      type: 'project' as const,
      name: 'Said',
      description: 'Something said',
      body: 'It was said so',
      reason: 'r',
      evidence,
    }
    const saved = await memory.save({
      cwd,
      env: {},
      memories: [found],
      inTransaction: () => () => {},
      mayWrite: () => true,
    })
    const [file = ''] = saved === 'lost' ? [] : saved.saved
    const gone = write(file, null, { expect: hashOf(readFileSync(join(dir, file))) })
    await consolidate([write('a.md', topic('The first thing, and it was said so', 'a.md'), { from: [file] }), gone])
    expect(memory.reading.get(cwd, person, 'a.md', undefined).evidence).toEqual(evidence)
  })

  it('is put back although another memory was saved since', async () => {
    const { memory, cwd, dir, before, write, consolidate } = await ground()
    const index = before['MEMORY.md'] ?? ''
    await consolidate([
      write('b.md', null),
      write('MEMORY.md', `# Mine\n\n${index.split('\n').slice(0, 1).join('\n')}\n`),
    ])
    await memory.put(cwd, person, { file: 'later.md', content: topic('Later', 'later.md') }, 'x')
    await memory.undo.run(RUN, 'user')
    const { 'MEMORY.md': now = '', 'later.md': later, ...rest } = filesOf(dir)
    expect(later).toBeDefined()
    const { 'MEMORY.md': _index, ...earlier } = before
    expect(rest).toEqual(earlier)
    for (const file of ['b.md', 'later.md']) expect(now).toContain(`](${file})`)
  })

  it('stays as it is when one memory was changed meanwhile, or another run is at it', async () => {
    const { dir, before, merge, kept, consolidate } = await ground()
    expect(await consolidate(merge, { mayWrite: false })).toBe('lost')
    writeFileSync(join(dir, 'b.md'), topic('Mine', 'b.md'))
    await expect(consolidate(merge)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(filesOf(dir)).toEqual({ ...before, 'b.md': topic('Mine', 'b.md') })
    expect(kept).toEqual([])
  })

  it('waits as one where something would be lost, and is approved as one', async () => {
    const { memory, dir, before, merge, kept, consolidate } = await ground()
    const losses = ['too much would go']
    expect(await consolidate(merge, { losses })).toMatchObject({ settled: { how: 'review', why: 'too much would go' } })
    expect(filesOf(dir)).toEqual(before)
    expect(kept).toEqual(['review'])
    // A later one takes the place of the one before.
    await consolidate(merge, { losses })
    const waiting = memory.history.reviews().items
    expect(waiting.map(({ file, op }) => [file, op])).toEqual([
      ['a.md', 'update'],
      ['b.md', 'delete'],
      ['n.md', 'create'],
    ])
    await memory.review.approve(Number(waiting[1]?.id))
    expect(memory.history.reviews().items).toEqual([])
    expect(Object.keys(filesOf(dir))).toEqual(['MEMORY.md', 'a.md', 'c.md', 'n.md'])
    await memory.undo.run(RUN, 'user')
    expect(filesOf(dir)).toEqual(before)
  })

  it('is rejected as one, and only what it would have brought is rejected for good', async () => {
    const { memory, cwd, dir, before, merge, write, consolidate } = await ground({ review: 'required' })
    // Takes over, word for word, what another memory says.
    await consolidate([...merge, write('c.md', topic('Another thing\n\nThe first thing again', 'c.md'))])
    const [first] = memory.history.reviews().items
    memory.review.reject(Number(first?.id))
    expect(memory.history.reviews().items).toEqual([])
    expect(filesOf(dir)).toEqual(before)
    const put = (body: string) => memory.put(cwd, person, { file: 'x.md', content: topic(body) }, 'x')
    await expect(put('Something new entirely')).rejects.toMatchObject({ reason: 'rejected-value' })
    await put('The first thing again')
    expect(existsSync(join(dir, 'x.md'))).toBe(true)
  })
})
