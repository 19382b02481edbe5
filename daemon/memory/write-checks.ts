/** Decides whether a write may happen: who writes over what, the shape of the text, credentials, rejected values. Writes nothing. */
import { MemoryError } from '../../schema/errors.ts'
import type { Core } from '../core.ts'
import type { Projects } from '../projects/projects.ts'
import { redact } from '../secrets/redact.ts'
import { checkFileName, isIndex, isLog } from './file-names.ts'
import type { MemoryFile, MemoryFolder } from './folder.ts'
import { indexProblems } from './index-file.ts'
import type { Evidence, Journal, NewChange, Op, Tip } from './journal.ts'
import { spokenValues, type Tombstones } from './tombstones.ts'
import { parseTopic, topicProblems } from './topic-file.ts'

export type Write = {
  file: string
  /** `null` deletes. */
  content: string | null
  /** What must be there: content with this hash, no file (`null`), or anything (`undefined`). */
  expect?: string | null | undefined
  /** Old content may not have the shape that new content needs. */
  form?: 'checked' | 'as-it-was'
  /** What a deletion leaves in the journal. With `nothing` the file need not exist. */
  leaves?: 'history' | 'nothing'
  /** Why this one, and what it rests on, where the writes of a run differ in that. */
  because?: { reason: string; evidence: readonly Evidence[] }
}

export type Author = {
  actor: string
  reason: string
  runId?: string | undefined
  evidence?: readonly Evidence[]
  op?: Op
}

type Checked = { content: string; redacted: string[]; advice: string[] }

/** A write that may happen. `beforeText`: without credentials; `after`: nothing for a deletion. */
export type Accepted = { write: Write; before: MemoryFile | undefined; beforeText: string; after: Checked | undefined }

export type WriteChecks = ReturnType<typeof createWriteChecks>

export function createWriteChecks(core: Core, projects: Projects, journal: Journal, tombstones: Tombstones) {
  const checkShape = (dir: string, file: string, content: string, before: string): string[] => {
    if (isIndex(file)) {
      const unfit = indexProblems(content, journal.files(dir), before).at(0)
      if (unfit) throw refused('shape', `line ${unfit.line} of the index: ${unfit.text}`)
      return []
    }
    if (isLog(file)) {
      if (!content.startsWith(before))
        throw refused('shape', `${file} is a log: what it holds stays, and new lines come after it`)
      if (/[\0\p{Cs}]/u.test(content)) throw refused('shape', `${file} holds what is no text`)
      return []
    }
    const problems = topicProblems(content)
    const unfit = problems.find((problem) => problem.weight === 'refuse')
    if (unfit) throw refused('shape', `${file}: ${unfit.text}`)
    if (file.startsWith('team/') && parseTopic(content).type === 'user')
      throw refused('shape', `${file}: what is known of a person is never shared with the team`)
    return problems.map((problem) => problem.text)
  }

  const checkContent = async (dir: string, { file, content, form }: Write, before: string): Promise<Checked> => {
    const { text, kinds } = await redact(content ?? '')
    if (kinds.length > 0 && file.startsWith('team/'))
      throw refused('secret', `${file} seems to hold a credential (${kinds.join(', ')})`, 'leave it out')
    const advice = form === 'as-it-was' ? [] : checkShape(dir, file, text, before)
    // An empty stamp: nothing was ever rejected.
    const rejected =
      tombstones.stamp() !== '' && tombstones.find(projects.directories.ofSameProject(dir), spokenValues(file, text))
    if (rejected)
      throw refused(
        'rejected-value',
        `${file} says again what was rejected on ${new Date(rejected.at).toISOString().slice(0, 10)}`,
        `if it holds after all, run first: memoryd forget --lift ${rejected.id}`,
      )
    return { content: text, redacted: kinds, advice }
  }

  return {
    /** Before the directory is made. Also for a deletion: the journal keeps the name. */
    checkName: async (file: string): Promise<void> => {
      const { dailyLog, team } = core.settings.current()
      const name = checkFileName(file)
      if (!name.ok) throw refused('path', name.refused)
      if (isLog(file) && !dailyLog.enabled)
        throw refused('path', `${file} is a daily log, and those are off`, 'set dailyLog.enabled')
      if (file.startsWith('team/') && !team.enabled)
        throw refused('path', `${file} lies in the team's folder, and team memory is off`, 'set team.enabled')
      if ((await nameWithoutCredential(file)) !== file)
        throw refused('secret', 'the name of the file seems to hold a credential', 'rename or delete it by hand')
    },
    check: async (dir: string, folder: MemoryFolder, write: Write, author: Author): Promise<Accepted> => {
      const { file, content, leaves } = write
      const tip = journal.tip(dir, file)
      const before = folder.read(file)
      refuseUnseen(write, author, before, tip)
      const beforeText = !before || isKeptExactly(tip, before) ? (before?.text ?? '') : (await redact(before.text)).text
      if (content === null && !before && leaves !== 'nothing') throw noMemory(file)
      const after = content === null ? undefined : await checkContent(dir, write, before?.text ?? '')
      return { write, before, beforeText, after }
    },
  }
}

/** What a person wrote is not overwritten by an agent that has not seen it. */
function refuseUnseen(
  { file, expect, content }: Write,
  { actor }: Author,
  before: MemoryFile | undefined,
  tip: Tip | undefined,
): void {
  const conflict = (message: string) =>
    new MemoryError('CONFLICT', message, {
      hint: 'read the current content, then send its hash as ifHash',
      details: { current: before ? { hash: before.hash, content: before.text } : null },
    })
  if (expect === null && before) throw conflict(`${file} exists already`)
  if (typeof expect === 'string' && before?.hash !== expect) throw conflict(`${file} is not what it was`)
  if (expect !== undefined || !before || !isAgent(actor) || content === before.text) return
  const isOwn = tip?.hash === before.hash && isAgent(tip.actor)
  // An agent that added a line to an index has not seen the rest of it.
  if (!isOwn || tip.partOf !== undefined)
    throw conflict(`${file} was last changed by a person, and this write does not say it has seen that`)
}

/** What the journal keeps byte for byte was searched for credentials when it was kept. */
export function isKeptExactly(tip: Tip | undefined, { hash }: MemoryFile): boolean {
  return tip?.exact === true && tip.hash === hash
}

export function isAgent(actor: string): boolean {
  return actor.startsWith('agent:')
}

export function waitsForReview({ settings }: Core, actor: string): boolean {
  return isAgent(actor) && settings.current().review === 'required'
}

export function noMemory(what: string): MemoryError {
  return new MemoryError('NOT_FOUND', `there is no memory ${what}`, { hint: 'run: memoryd list' })
}

export function onlyForPersons(message: string): MemoryError {
  return new MemoryError('REFUSED', message, { reason: 'permission', hint: 'use the command line' })
}

function refused(reason: string, message: string, hint?: string): MemoryError {
  return new MemoryError('REFUSED', message, { reason, hint })
}

export function isRefusal(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.code === 'REFUSED'
}

export function whyRefused({ reason, message }: MemoryError): string {
  return `${reason}: ${message}`
}

const FILE_CHARS = 600
const REASON_CHARS = 500

type Refused = { at: number; dir: string; file: string; why: string; author: Pick<Author, 'actor' | 'runId'> }

/** The journal records that a write was refused and why, never what it said. */
export async function refusalOf({ at, dir, file, why, author }: Refused): Promise<NewChange> {
  const name = await nameWithoutCredential(file)
  // A message shows a long name cut short, and half a credential is not recognised.
  const told = name === file ? why : 'secret: the name of the file seems to hold a credential'
  return {
    at,
    dir,
    file: name.slice(0, FILE_CHARS),
    op: 'refused',
    actor: author.actor,
    reason: (await redact(told)).text.slice(0, REASON_CHARS),
    runId: author.runId,
    before: undefined,
    after: undefined,
    undoable: false,
    evidence: [],
  }
}

export async function withoutCredentials<T extends Pick<Author, 'actor' | 'reason' | 'evidence'>>(author: T) {
  const clean = async (text: string) => (await redact(text)).text
  const [actor, reason, evidence] = await Promise.all([
    author.actor === 'user' ? author.actor : clean(author.actor),
    clean(author.reason),
    Promise.all((author.evidence ?? []).map(async (each) => ({ ...each, excerpt: await clean(each.excerpt) }))),
  ])
  return { ...author, actor, reason, evidence }
}

/** Searched without its ending: with it, a value looks like the name of a file. */
export async function nameWithoutCredential(file: string): Promise<string> {
  const { text, kinds } = await redact(file.replace(/\.md$/, ''))
  return kinds.length > 0 ? text : file
}

export type CredentialNames = ReturnType<typeof createCredentialNames>

/** Names that have a credential in them: a person may have made such a file, and no caller is told its name. */
export function createCredentialNames() {
  const found = new Set<string>()
  return {
    has: async (file: string): Promise<boolean> => {
      if (!found.has(file) && (await nameWithoutCredential(file)) !== file) found.add(file)
      return found.has(file)
    },
    isKnown: (file: string): boolean => found.has(file),
  }
}
