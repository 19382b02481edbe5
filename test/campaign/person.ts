/** A person who edits memories in an editor, and a harness that writes transcripts: both whether a daemon runs or not. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from '../../daemon/platform/files.ts'
import { claudeSession } from '../support/claude-session.ts'
import { topic } from '../support/memory.ts'
import type { Text } from './ledger.ts'
import type { Ground, Project } from './workload.ts'

/** As an editor that wants it to last: the folder is synced too. */
function write(path: string, text: Text): void {
  mkdirSync(dirname(path), { recursive: true })
  if (text === null) rmSync(path, { force: true })
  else {
    const beside = join(dirname(dirname(path)), '.editing')
    const fd = openSync(beside, 'w', 0o600)
    try {
      writeFileSync(fd, text)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(beside, path)
  }
  syncPath(dirname(path))
}

function edit({ dir, ledger }: Project, file: string, text: Text): void {
  ledger.edit(file, text)
  write(join(dir, file), text)
}

/** A file that only this person writes: the daemon may be at any other. */
export function editOne({ random, next }: Ground, project: Project): void {
  const file = `hand_${Math.floor(3 * random())}.md`
  const text = random() < 0.25 ? null : topic(`Edited by hand for the ${next()}th time.`, 'By hand')
  if (text !== null || (project.ledger.entry(file)?.now ?? null) !== null) edit(project, file, text)
}

/** A memory of the daemon's, or the index, while no daemon runs. */
export function editWhileDown({ random, projects, next }: Ground): void {
  const project = projects[Math.floor(random() * projects.length)]
  if (!project) return
  const { dir, ledger, notes } = project
  const index = join(dir, 'MEMORY.md')
  if (random() < 0.3 && existsSync(index)) {
    const note = `Note ${next()} of a person.`
    notes.push(note)
    return write(index, `${readFileSync(index, 'utf8')}${note}\n`)
  }
  const isTheirs = /^(?:user|agent)_\d\.md$/
  const files = [...ledger.files()].filter(([file, { now, open }]) => isTheirs.test(file) && now !== null && !open)
  const [file] = files[Math.floor(random() * files.length)] ?? []
  if (file !== undefined) edit(project, file, topic(`Edited by a person as number ${next()} while no daemon ran.`, 'By a person'))
}

const RULES_EACH = 0.15
const TURNS_PER_SESSION = 30

/** A turn, in which now and then a rule is stated. */
export function sayOne({ home, random, next }: Ground, project: Project): void {
  if (project.turns++ % TURNS_PER_SESSION === 0)
    project.session = claudeSession(home, `${project.name}-${project.turns}`, project.name)
  const { session, ledger } = project
  const token = `check-${next()}`
  const isRule = random() < RULES_EACH
  if (isRule) ledger.rules.set(token, { token, state: 'said' })
  session.say(isRule ? `Please always run ${token} before you commit, because CI is strict.` : `What does ${token} do?`)
  if (random() < 0.5) syncPath(session.file)
}
