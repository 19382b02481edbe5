/** A person who edits memories in an editor, and a harness that writes transcripts: both whether a daemon runs or not. */
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { syncPath } from '../../daemon/platform/files.ts'
import { claudeSession } from '../support/claude-session.ts'
import { topic } from '../support/memory.ts'
import type { Rule, Text } from './ledger.ts'
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

function edit({ dir, ledger, unsure }: Project, file: string, text: Text): void {
  const before = ledger.entry(file)?.now ?? null
  ledger.edit(file, text)
  unsure.set(file, [before, text])
  write(join(dir, file), text)
  unsure.delete(file)
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
    write(index, `${readFileSync(index, 'utf8')}${note}\n`)
    return
  }
  const isTheirs = /^(?:user|agent)_\d\.md$/
  const files = [...ledger.files()].filter(([file, { now, open }]) => isTheirs.test(file) && now !== null && !open)
  const [file] = files[Math.floor(random() * files.length)] ?? []
  if (file !== undefined)
    edit(project, file, topic(`Edited by a person as number ${next()} while no daemon ran.`, 'By a person'))
}

const RULES_EACH = 0.15
const TURNS_PER_SESSION = 30

/** A turn, in which now and then a rule is stated. */
export function sayOne({ home, random, next }: Ground, project: Project): void {
  if (project.turns++ % TURNS_PER_SESSION === 0) {
    if (existsSync(project.session.file)) syncPath(project.session.file)
    project.session = claudeSession(home, `${project.name}-${project.turns}`, project.name)
  }
  const { session, ledger } = project
  const token = `check-${next()}`
  const isRule = random() < RULES_EACH
  if (isRule) ledger.rules.set(token, { token, where: session.file, state: 'said' })
  session.say(isRule ? `Please always run ${token} before you commit, because CI is strict.` : `What does ${token} do?`)
  if (random() < 0.5) syncPath(session.file)
}

/** What the power has taken from persons and harnesses, who do not wait for the disk as the daemon does. */
export function afterCut({ projects }: Ground): string[] {
  const problems: string[] = []
  for (const { dir, ledger, unsure, due, session } of projects) {
    for (const [file, possible] of unsure) {
      const path = join(dir, file)
      const text = existsSync(path) ? readFileSync(path, 'utf8') : null
      if (!possible.includes(text)) problems.push(`an edit that was cut left neither: ${file}`)
      ledger.unsure(file, text)
    }
    unsure.clear()
    // That a dream was asked for is in index.db, which a power cut may set back.
    due.clear()
    for (const rule of ledger.rules.values()) if (rule.file === undefined && !isSaid(rule)) rule.state = 'lost'
    if (existsSync(session.file) && !readFileSync(session.file, 'utf8').endsWith('\n'))
      appendFileSync(session.file, '\n')
    // Whatever was cut off, the session goes on.
    session.say('Where were we?')
    syncPath(session.file)
  }
  return problems
}

/** In a whole line. */
function isSaid({ where, token }: Rule): boolean {
  const lines = existsSync(where) ? readFileSync(where, 'utf8').split('\n') : []
  return lines.some((line) => line.includes(`${token} before`) && line.endsWith('}'))
}
