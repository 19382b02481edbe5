import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryd } from '../support/cli.ts'
import { connectAs } from '../support/connect-as.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { memoryDirOf, writeAsModel } from '../support/writer.ts'

const KEY = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`

const evidence = (excerpt: string) => [
  { sessionId: 'session-7', messageIds: ['m1', 'm2'], excerpt, at: '2026-03-01T10:00:00.000Z' },
]

/** A project in which a model has written. */
async function open(excerpt: string) {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const dir = memoryDirOf(home, cwd)
  await writeAsModel(home, async (writer) => {
    const by = { actor: 'agent:extract', reason: 'said in a session', runId: 'run-1', evidence: evidence(excerpt) }
    const writes = ['one.md', 'two.md'].map((file) => ({ file, content: topic(`From a session, ${file}.`) }))
    await writer.write(dir, writes, by)
  })
  await startDaemon(home)
  const why = async (file: string) => (await memoryd({ ...home, dir: cwd }, 'why', file)).stdout
  return { home, cwd, dir, why, person: connectAs(home, 'user') }
}

describe('a memory that a model made', () => {
  it('leads to what was said, by GET and by why, each of a run', async () => {
    const said = 'please always deploy from the release branch'
    const { cwd, why, person } = await open(said)
    for (const file of ['one.md', 'two.md']) {
      expect((await person.memory({ cwd, file })).evidence).toEqual(evidence(said))
      expect(await why(file)).toContain('create by agent:extract: said in a session')
      expect(await why(file)).toContain(`2026-03-01T10:00:00.000Z  session session-7: ${said}`)
      expect((await person.changes({ cwd, file })).items).toMatchObject([{ runId: 'run-1', evidence: evidence(said) }])
    }
  })

  it('still does when it was edited sixty times since, deleted and brought back', async () => {
    const said = 'please always deploy from the release branch'
    const { cwd, dir, why, person } = await open(said)
    for (let n = 0; n < 60; n++) await person.putMemory({ cwd, file: 'one.md', content: topic(`Edited ${n}.`) })
    const { changeId: id = '' } = await person.forget({ cwd, file: 'one.md' })
    await person.undoChange({ id })
    writeFileSync(join(dir, 'two.md'), topic('In an editor.'))
    for (const file of ['one.md', 'two.md']) {
      expect((await person.memory({ cwd, file })).evidence).toEqual(evidence(said))
      expect(await why(file)).toContain(said)
    }
  })

  it('keeps what was said without the credential in it', async () => {
    const { cwd, why, person } = await open(`deploy with ${KEY} from the release branch`)
    const [kept] = (await person.memory({ cwd, file: 'one.md' })).evidence
    expect(kept?.excerpt).toBe('deploy with [redacted:github-token] from the release branch')
    expect(await why('one.md')).not.toContain(KEY)
  })

  it('is told from one that no session is recorded for', async () => {
    const { cwd, why, person } = await open('anything')
    await person.putMemory({ cwd, file: 'mine.md', content: topic('By a person.') })
    expect((await person.memory({ cwd, file: 'mine.md' })).evidence).toEqual([])
    expect(await why('mine.md')).toContain('no session is recorded as its source; see who wrote it above')
  })
})
