import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { connectAs } from '../support/connect-as.ts'
import { type Home, makeHome } from '../support/home.ts'
import { startDaemon } from '../support/in-process.ts'
import { projectRoot } from '../support/sources.ts'

const OLD_HOME = '/tmp/md-old'

/** A home as an earlier version left it. The databases hold absolute paths: they are made to name this home. */
function olderHome(): Home {
  const home = makeHome()
  execFileSync('tar', ['xzf', join(projectRoot, 'test/fixtures/state-182a9ef/home.tar.gz'), '-C', home.dir])
  const slugOf = (path: string) => path.replaceAll(/[^A-Za-z0-9]/g, '-')
  const projects = join(home.dir, '.claude/projects')
  execFileSync('mv', [`${projects}/${slugOf(`${OLD_HOME}/shop`)}`, `${projects}/${slugOf(`${home.dir}/shop`)}`])
  chmodSync(home.places.stateDir, 0o700)
  mkdirSync(join(home.dir, 'quiet', '.git'), { recursive: true })
  for (const name of ['history.db', 'index.db']) {
    const db = new Database(join(home.places.stateDir, name))
    const tables = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
      .pluck()
    for (const table of tables.all() as string[]) {
      if (/sqlite_|_(data|idx|content|docsize|config)$/.test(table)) continue
      for (const { name: column } of db.prepare(`PRAGMA table_info("${table}")`).all() as { name: string }[])
        db.prepare(
          `UPDATE "${table}" SET "${column}" = replace(replace("${column}", ?, ?), ?, ?) WHERE typeof("${column}") = 'text'`,
        ).run(OLD_HOME, home.dir, slugOf(OLD_HOME), slugOf(home.dir))
    }
    db.close()
  }
  return home
}

it('opens the state of 182a9ef without loss', async () => {
  const home = olderHome()
  const cwd = join(home.dir, 'shop')
  const daemon = await startDaemon(home)
  const user = connectAs(home, 'user')
  expect((await user.memories({ cwd })).items.map(({ file }) => file).sort()).toEqual([
    'feedback_never_push_to_main_on_fridays.md',
    'feedback_prices_are_kept_in_cents_never_in.md',
    'project_deploys_of_the_shop_go_out_from.md',
    'project_the_invoices_service_must_be_restarted_after.md',
    'project_we_decided_to_use_postgres_17_for.md',
  ])
  expect((await user.status()).paused).toEqual({ all: false, projects: [join(home.dir, 'quiet')] })
  expect((await user.tombstones()).items).toHaveLength(1)
  const { items: changes } = await user.changes({ cwd })
  expect(changes.filter(({ file }) => file !== 'MEMORY.md').map(({ op }) => op)).toEqual([
    ...['create', 'create', 'create', 'delete'],
    ...['create', 'create', 'create'],
  ])
  expect((await user.sessions({ cwd })).items).toHaveLength(1)
  expect((await user.search({ cwd, q: 'invoices' })).items.length).toBeGreaterThan(0)

  await expect(user.remember({ cwd, text: 'The staging database is wiped every Monday' })).rejects.toMatchObject({
    reason: 'rejected-value',
  })
  const last = changes.find(({ file }) => file === 'feedback_never_push_to_main_on_fridays.md')
  await user.undoChange({ id: String(last?.id) })
  expect((await user.memories({ cwd })).items).toHaveLength(4)
  expect(await daemon.stop()).toMatchObject({ code: 0 })
})
