import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type RouteName, routeTable } from '../../schema/route-table.ts'
import { connectAs } from '../support/connect-as.ts'
import { makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { topic } from '../support/memory.ts'
import { type EntryPoint, entryPoints, type Ground, wordless } from '../support/said-again.ts'
import { memoryDirOf, writeAsModel } from '../support/writer.ts'

const SAID = 'The staging database may be wiped at any time'

/** The same thing, said otherwise. */
const forms: [string, string][] = [
  ['as it was', SAID],
  ['in other case', SAID.toUpperCase()],
  ['with other spaces', SAID.replaceAll(' ', ' \u00a0 ')],
  ['in compatibility forms', SAID.replaceAll('s', '\uff53').replaceAll('t', '\u{1d42d}')],
  ['with invisible characters', SAID.replaceAll('a', 'a\u200b').replace('w', 'w\u2060\ufe0f')],
  ['with other punctuation', `${SAID.replace('database', 'database,')}!!`],
]
const together: [string, string][] = [
  ['in all of them', SAID.toUpperCase().replaceAll('S', '\uff33').replaceAll(' ', ' \u200b\u00a0').replace(' ', ', ')],
]

type Case = { entry: EntryPoint; form: string; text: string; ground: Ground; attempt: () => Promise<unknown> }

/** One project for every entry point and form: what is rejected in one says nothing against the others. */
async function openAll(review: 'auto' | 'required') {
  const home = makeHome()
  writeFileSync(home.places.configFile, JSON.stringify({ review, team: { enabled: true } }))
  const clients = { person: connectAs(home, 'user'), agent: connectAs(home, 'agent:test') }
  const listed = entryPoints
    .filter((entry) => (entry.review ?? 'auto') === review)
    .flatMap((entry, at) =>
      (entry.cost === 'high' ? together : forms).map(([form, text], n) => ({
        entry,
        form,
        text,
        run: `run-${at}-${n}`,
      })),
    )
  const cases = listed.map(({ run, ...each }) => {
    const cwd = join(home.dir, run)
    mkdirSync(cwd)
    return { ...each, ground: { home, ...clients, cwd, dir: memoryDirOf(home, cwd), run } }
  })
  await writeAsModel(home, async (writer) => {
    for (const { entry, ground, text } of cases) await entry.beforeStart?.(writer, ground, text)
  })
  const daemon = await startDaemon(home)
  const opened: Case[] = []
  for (const each of cases) opened.push({ ...each, attempt: await each.entry.open(each.ground, each.text) })
  return { home, daemon, person: clients.person, cases: opened }
}

async function reject({ ground: { person, cwd } }: Case): Promise<void> {
  const content = topic(`Something else that is true.\n\n- ${SAID}.\n- And a third thing to know.`)
  await person.putMemory({ cwd, file: 'wrong.md', content })
  await person.forget({ cwd, file: 'wrong.md', reject: 'true' })
}

function outcomes(cases: readonly Case[]): Promise<string[]> {
  return Promise.all(
    cases.map(async ({ entry, form, attempt }) => {
      const outcome = await attempt().then(
        () => 'said again',
        (error: { reason?: string; message: string }) =>
          error.reason === 'rejected-value' ? 'refused' : error.message,
      )
      return `${entry.name}, ${form}: ${outcome}`
    }),
  )
}

const all = (cases: readonly Case[], outcome: string) =>
  cases.map(({ entry, form }) => `${entry.name}, ${form}: ${outcome}`)

describe('a rejected value', () => {
  it('meets every route that takes words in', () => {
    const changing = (Object.keys(routeTable) as RouteName[]).filter((name) => routeTable[name].method !== 'GET')
    expect([...new Set([...entryPoints.map(({ route }) => route), ...wordless])].sort()).toEqual(changing.sort())
  })

  it.each(['auto', 'required'] as const)(
    'never comes back, however it is said, after a restart and without index.db, until a person lifts it (review: %s)',
    { timeout: 120_000 },
    async (review) => {
      const { home, daemon, person, cases } = await openAll(review)
      for (const each of cases) await reject(each)
      expect(await outcomes(cases)).toEqual(all(cases, 'refused'))
      // A sub-agent's memory has a history of its own.
      const projects = cases.filter(({ entry }) => entry.route !== 'putAgentMemory')
      const recorded = await Promise.all(projects.map(({ ground }) => person.changes({ cwd: ground.cwd, limit: '1' })))
      expect(new Set(recorded.map(({ items }) => items[0]?.reason.split(':')[0]))).toEqual(new Set(['rejected-value']))

      await daemon.stop()
      for (const tail of ['', '-wal', '-shm']) rmSync(join(home.places.stateDir, `index.db${tail}`), { force: true })
      await startDaemon(home)
      expect(await outcomes(cases)).toEqual(all(cases, 'refused'))

      const { items } = await person.tombstones()
      expect(items).toHaveLength(cases.length)
      for (const { id } of items) await person.liftTombstone({ id })
      expect(await outcomes(cases)).toEqual(all(cases, 'said again'))
    },
  )
})
