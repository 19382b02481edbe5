import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isUsable, listBackups } from '../../daemon/db/backup.ts'
import { storeLayout } from '../../daemon/db/database.ts'
import { agent, memoryRig, person, type Rig, topic } from '../support/memory.ts'
import { missing, traces } from '../support/traces.ts'

const FILE = 'project_quagmire_walnut.md'
const BODY = 'The vault opens with quagmire walnut.'
const words = ['quagmire', 'plankton', 'marzipan']

const put = (rig: Rig, file: string, content: string, caller = person, reason = 'test') =>
  rig.memory.put(rig.cwd, caller, { file, content }, reason)
const purge = (rig: Rig, file = FILE, how: { reject?: boolean; ifHash?: string } = {}, caller = person) =>
  rig.purges.purge(rig.memory.dirOf(rig.cwd, caller), caller, file, { reject: false, ifHash: undefined, ...how })
const forget = (rig: Rig, file = FILE) => rig.memory.forget(rig.cwd, person, file, { reject: false, ifHash: undefined })
const changes = (rig: Rig, file?: string) =>
  rig.memory.history.changes(rig.cwd, person, { file, limit: undefined, after: undefined }).items
const tree = (rig: Rig) =>
  Object.fromEntries(
    readdirSync(rig.dir)
      .sort()
      .map((name) => [name, readFileSync(join(rig.dir, name), 'utf8')]),
  )

/** A memory with a past, between two others. */
async function makeRig(options: Parameters<typeof memoryRig>[0] = {}): Promise<Rig & { at: number }> {
  const rig = await memoryRig(options)
  await put(rig, 'first.md', topic('Something else.', 'First'))
  await put(rig, FILE, topic('It opened with plankton.', 'Plankton'), person, 'because of plankton')
  const at = rig.time.clock.now() + 1
  rig.time.pass(60_000)
  await put(rig, FILE, topic(BODY, 'Marzipan'))
  await put(rig, 'last.md', topic('A third thing.', 'Last'))
  return { ...rig, at }
}

function failsOnce(words: string): () => void {
  const faults = [new Error(words)]
  return () => {
    const fault = faults.pop()
    if (fault) throw fault
  }
}

describe('a purged memory', () => {
  it('is gone from the directory, the index and every byte of the state folder', async () => {
    const rig = await makeRig()
    await rig.store.backUpDaily(rig.time.clock.now())
    expect(missing(rig.state, words)).toEqual([])
    const copies = listBackups(storeLayout(rig.state).backups)
    expect(await purge(rig)).toEqual({
      changeId: expect.stringMatching(/^\d+$/),
      purged: { versions: 2, backups: 1, deleted: copies },
    })
    expect(traces(rig.state, words)).toEqual([])
    expect(listBackups(storeLayout(rig.state).backups).map(isUsable)).toEqual([true])
    expect(tree(rig)).toEqual({
      'MEMORY.md': '- [First](first.md) — What is known of First\n- [Last](last.md) — What is known of Last\n',
      'first.md': topic('Something else.', 'First'),
      'last.md': topic('A third thing.', 'Last'),
    })
    await rig.memory.lookEverywhere()
    expect(traces(rig.state, words)).toEqual([])
    expect(rig.errors()).toEqual([])
  })

  it('that was only forgotten is still there', async () => {
    const rig = await makeRig()
    await rig.store.backUpDaily(rig.time.clock.now())
    await forget(rig)
    expect(missing(rig.state, words)).toEqual([])
    expect(missing(storeLayout(rig.state).backups, words)).toEqual([])
  })

  it('can have been forgotten before, or deleted by hand, also when no look has noticed', async () => {
    for (const how of ['forgotten', 'deleted', 'noticed'] as const) {
      const rig = await makeRig()
      if (how === 'forgotten') await forget(rig)
      else rmSync(join(rig.dir, FILE))
      if (how === 'noticed') await rig.memory.lookEverywhere()
      expect((await purge(rig)).purged, how).toMatchObject({ versions: 2 })
      expect(traces(rig.home, words), how).toEqual([])
      await rig.memory.lookEverywhere()
      expect(
        changes(rig).map(({ file }) => file),
        how,
      ).not.toContain(FILE)
      expect(
        changes(rig).filter(({ actor }) => actor === 'external' && how !== 'noticed'),
        how,
      ).toEqual([])
      await expect(purge(rig), how).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })

  it('that others wrote leaves no text behind though its last state was never noticed', async () => {
    const rig = await makeRig()
    writeFileSync(join(rig.dir, FILE), topic('In an editor: hollyhock.'))
    await purge(rig)
    expect(traces(rig.home, [...words, 'hollyhock'])).toEqual([])
  })

  it('is never known when nothing is', async () => {
    const rig = await makeRig()
    await expect(purge(rig, 'never.md')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(purge(rig, '../never.md')).rejects.toMatchObject({ code: 'REFUSED' })
  })

  it('is only purged by a person, and only as it was seen', async () => {
    const rig = await makeRig()
    const before = tree(rig)
    await expect(purge(rig, FILE, {}, agent)).rejects.toMatchObject({ code: 'REFUSED', reason: 'permission' })
    await expect(purge(rig, FILE, { ifHash: 'f'.repeat(64), reject: true })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree(rig)).toEqual(before)
    expect(missing(rig.state, words)).toEqual([])
    expect(rig.memory.history.tombstones().items).toEqual([])
    const { hash } = rig.memory.reading.get(rig.cwd, person, FILE, undefined)
    await purge(rig, FILE, { ifHash: hash })
    expect(traces(rig.state, words)).toEqual([])
  })

  it('can be rejected as well: it does not come back, and nothing says what it was', async () => {
    for (const present of ['present', 'gone'] as const) {
      const rig = await makeRig()
      if (present === 'gone') await forget(rig)
      const { tombstoneId, changeId } = await purge(rig, FILE, { reject: true })
      expect(traces(rig.home, words), present).toEqual([])
      expect(rig.memory.history.tombstones().items, present).toMatchObject([
        { id: tombstoneId, file: `purged-${changeId}`, excerpt: 'purged' },
      ])
      await expect(put(rig, 'again.md', topic(BODY.toUpperCase())), present).rejects.toMatchObject({
        reason: 'rejected-value',
      })
    }
  })

  it('takes along what waits for review about it', async () => {
    const rig = await makeRig({ review: 'required' })
    await put(rig, 'other.md', topic(`Copied: ${BODY}`), agent)
    await put(rig, 'kept.md', topic('Nothing of the kind, at all.'), agent)
    await rig.memory.put(
      rig.cwd,
      agent,
      {
        file: FILE,
        content: topic('It opens with hollyhock.'),
        expect: rig.memory.reading.get(rig.cwd, person, FILE, undefined).hash,
      },
      'x',
    )
    expect(missing(rig.state, ['hollyhock'])).toEqual([])
    await purge(rig)
    expect(traces(rig.state, [...words, 'hollyhock'])).toEqual([])
    expect(rig.memory.history.reviews().items.map(({ file }) => file)).toEqual(['kept.md'])
  })

  it('makes room: another one of its name has a history of its own', async () => {
    const rig = await makeRig()
    await purge(rig)
    await put(rig, FILE, topic('A new beginning.'))
    expect(changes(rig, FILE).map(({ op }) => op)).toEqual(['create'])
    expect(rig.memory.reading.get(rig.cwd, person, FILE, undefined).content).toBe(topic('A new beginning.'))
  })

  it('may be the index itself: every memory stays, and a new one is begun', async () => {
    const rig = await makeRig()
    await purge(rig, 'MEMORY.md')
    expect(changes(rig, FILE).map(({ op, undoable }) => [op, undoable])).toEqual([
      ['update', true],
      ['create', true],
    ])
    expect(traces(rig.state, ['](first.md)'])).toEqual([])
    const { changeId } = await put(rig, 'new.md', topic('Something new.', 'New'))
    await rig.memory.undo.change(Number(changeId), 'user')
    expect(Object.keys(tree(rig))).toEqual(['first.md', 'last.md', FILE])
  })

  it('of the team goes out of the index of the team, and of the own one', async () => {
    const rig = await memoryRig({ team: true })
    await put(rig, 'mine.md', topic('Something else.', 'Mine'))
    await put(rig, 'team/shared.md', topic(BODY, 'Marzipan'))
    writeFileSync(join(rig.dir, 'MEMORY.md'), '- [Mine](mine.md) — x\n- [Marzipan](team/shared.md) — quagmire\n')
    await rig.memory.lookEverywhere()
    writeFileSync(join(rig.dir, 'MEMORY.md'), '- [Mine](mine.md) — x\n')
    await purge(rig, 'team/shared.md')
    expect(traces(rig.home, words)).toEqual([])
    expect(existsSync(join(rig.dir, 'team', 'MEMORY.md'))).toBe(true)
  })
})

describe('the history of a purged memory', () => {
  it('says that it was purged, and not what it was', async () => {
    const rig = await makeRig()
    const [first] = changes(rig, FILE)
    const { changeId } = await purge(rig)
    expect(rig.memory.history.change(first?.id ?? '')).toMatchObject({
      file: `purged-${changeId}`,
      reason: 'purged',
      before: null,
      after: null,
      undoable: false,
      purged: true,
      beforeHash: expect.any(String),
    })
    expect(() => rig.memory.reading.get(rig.cwd, person, FILE, rig.at)).toThrow('there is no memory')
    const before = tree(rig)
    for (const id of [first?.id, changeId])
      await expect(rig.memory.undo.change(Number(id), 'user')).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(rig.memory.undo.change(Number(first?.id), 'user')).rejects.toThrow('it was purged')
    expect(tree(rig)).toEqual(before)
  })

  it('leaves that of all others: they are shown as they were, and undone', async () => {
    const rig = await makeRig()
    const edit = await put(rig, 'first.md', topic('Something quite else.', 'First'))
    const gone = await forget(rig, 'last.md')
    await purge(rig)
    expect(rig.memory.reading.get(rig.cwd, person, 'first.md', rig.at).content).toBe(topic('Something else.', 'First'))
    await rig.memory.undo.change(Number(edit.changeId), 'user')
    await rig.memory.undo.change(Number(gone.changeId), 'user')
    expect(tree(rig)).toEqual({
      'MEMORY.md': '- [First](first.md) — What is known of First\n- [Last](last.md) — What is known of Last\n',
      'first.md': topic('Something else.', 'First'),
      'last.md': topic('A third thing.', 'Last'),
    })
    expect(traces(rig.home, words)).toEqual([])
  })
})

describe('a memory with the same text as a purged one', () => {
  it('stays, tells that its own past was purged, and is never taken for an empty one', async () => {
    const rig = await makeRig()
    await put(rig, 'twin.md', topic(BODY, 'Marzipan'))
    const [created] = changes(rig, 'twin.md')
    const then = rig.time.clock.now() + 1
    await purge(rig)
    expect(rig.memory.reading.get(rig.cwd, person, 'twin.md', undefined).content).toBe(topic(BODY, 'Marzipan'))
    expect(() => rig.memory.reading.get(rig.cwd, person, 'twin.md', then)).toThrow('was purged')
    expect(rig.memory.history.change(created?.id ?? '')).toMatchObject({ after: null, purged: true, undoable: true })

    rig.time.pass(60_000)
    const edit = await put(rig, 'twin.md', topic('Something new.', 'Marzipan'))
    expect(rig.memory.history.change(edit.changeId ?? '')).toMatchObject({ before: topic(BODY, 'Marzipan') })
    await rig.memory.undo.change(Number(edit.changeId), 'user')
    expect(tree(rig)['twin.md']).toBe(topic(BODY, 'Marzipan'))
  })

  it('is not written as an empty one after a kill, nor journaled as one when a person edits it', async () => {
    const rig = await makeRig()
    await put(rig, 'twin.md', topic(BODY, 'Marzipan'))
    await purge(rig)
    // As if the last change of the twin had never been known to be on disk.
    rig.store.history.prepare(`UPDATE marks SET value = 0 WHERE name = 'applied'`).run()
    rig.store.close()
    rmSync(join(rig.dir, 'twin.md'))
    const again = { ...rig, ...(await rig.open()) }
    expect(again.memory.recovery.problems).toEqual([])
    expect(existsSync(join(rig.dir, 'twin.md'))).toBe(false)
    await again.memory.lookEverywhere()
    const [deletion] = changes(again, 'twin.md')
    expect(deletion).toMatchObject({ op: 'delete', actor: 'external', undoable: false, purged: true })
    await expect(again.memory.undo.change(Number(deletion?.id), 'user')).rejects.toThrow('it was purged')
  })
})

describe('a purge that was interrupted', () => {
  it('is finished at the next start, from wherever it was', async () => {
    const rig = await makeRig()
    rig.purges.onPurge(failsOnce('killed'))
    await rig.store.backUpDaily(rig.time.clock.now())
    await expect(purge(rig)).rejects.toThrow('killed')
    expect(traces(rig.dir, words)).toEqual([])
    rig.store.close()
    const again = { ...rig, ...(await rig.open()) }
    expect(await again.purges.finish()).toMatchObject([{ deleted: [] }])
    expect(traces(rig.home, words)).toEqual([])
    expect(listBackups(storeLayout(rig.state).backups)).toEqual([])
    expect(await again.purges.finish()).toEqual([])
  })

  it('can be asked for again', async () => {
    const rig = await makeRig()
    rig.purges.onPurge(failsOnce('disk full'))
    await expect(purge(rig)).rejects.toThrow('disk full')
    expect(await purge(rig)).toMatchObject({ purged: { deleted: [] } })
    expect(traces(rig.home, words)).toEqual([])
    await expect(purge(rig)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('before the file was removed is finished with it', async () => {
    const rig = await makeRig()
    const content = tree(rig)[FILE] ?? ''
    const deletion = { file: FILE, content: null, expect: undefined, leaves: 'nothing' } as const
    await rig.memory.writer.write(rig.dir, [deletion], { actor: 'user', reason: 'purged' })
    // As it was right after the journal had it: the file was still there, and its line in the index.
    writeFileSync(join(rig.dir, FILE), content)
    rig.store.history.prepare(`UPDATE marks SET value = 0 WHERE name = 'applied'`).run()
    rig.store.close()
    const again = { ...rig, ...(await rig.open()) }
    expect(again.memory.recovery).toEqual({ completed: [FILE], problems: [] })
    expect(await again.purges.finish()).toMatchObject([{ versions: 2 }])
    expect(traces(rig.home, words)).toEqual([])
    expect(changes(again, 'first.md').map(({ undoable }) => undoable)).toEqual([true])
  })

  it('because the file was changed meanwhile did not happen', async () => {
    const rig = await makeRig()
    // Between the last look and the removal.
    rig.store.history.function('save', () => {
      writeFileSync(join(rig.dir, FILE), topic('Saved meanwhile.'))
      return 0
    })
    rig.store.history.exec('CREATE TEMP TRIGGER meanwhile AFTER INSERT ON purges BEGIN SELECT save(); END')
    await expect(purge(rig, FILE, { reject: true })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(tree(rig)[FILE]).toBe(topic('Saved meanwhile.'))
    expect(missing(rig.state, words)).toEqual([])
    expect(await rig.purges.finish()).toEqual([])
    expect(rig.memory.history.tombstones().items).toEqual([])
    expect(changes(rig, FILE).map(({ op }) => op)).toEqual(['refused', 'update', 'create'])
  })
})
