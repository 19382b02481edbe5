/** Everything that stands between a wish to write and a write: who may, what was seen, shape, credentials, rejected values. */
import { MemoryError } from '../../schema/errors.ts'
import { hashOf } from '../platform/safe-folder.ts'
import { checkFileName, isLog } from './file-names.ts'
import { isIndex, type Present } from './folder.ts'
import { indexProblems, parsePointers } from './index-file.ts'
import type { Evidence, NewChange, Tip } from './journal.ts'
import { type Tombstones, valuesOf, wholeValue } from './tombstones.ts'
import { parseTopic, topicProblems } from './topic-file.ts'
import type { By, Write } from './writer.ts'

export function isAgent(actor: string): boolean {
  return actor.startsWith('agent:')
}

export function forPeople(message: string): MemoryError {
  return new MemoryError('REFUSED', message, { reason: 'permission', hint: 'use the command line' })
}

/** Keeps writes from going over what whoever writes has not seen. Pure. */

/** What is there, and the last change of it that the journal knows. */
type Facts = { write: Write; by: By; before: Present | undefined; latest: Tip | undefined }

/** A person's word stands until whoever writes has seen it. */
export function guard({ write: { file, expect, content }, by, before, latest }: Facts): void {
  const conflict = (message: string) =>
    new MemoryError('CONFLICT', message, {
      hint: 'read the current content, then send its hash as ifHash',
      details: { current: before ? { hash: before.hash, content: before.text } : null },
    })
  if (expect === null && before) throw conflict(`${file} exists already`)
  if (typeof expect === 'string' && before?.hash !== expect) throw conflict(`${file} is not what it was`)
  if (expect !== undefined || !before || !isAgent(by.actor) || content === before.text) return
  const isOwn = latest?.hash === before.hash && isAgent(latest.actor)
  // Who added a line to an index has not seen the rest of it.
  const byPerson = !isOwn || latest.partOf !== undefined
  if (byPerson) throw conflict(`${file} was last changed by a person, and this write does not say it has seen that`)
}

/** Decides whether a text may become a memory: shape, credentials, rejected values. Writes nothing. */

export type Redact = (text: string) => Promise<{ text: string; kinds: string[] }>

/** Who changed and what it rests on, as it may be kept: a label and an excerpt are words like any others. */
export async function withoutCredentials<T extends { actor: string; reason: string; evidence?: readonly Evidence[] }>(
  by: T,
  redact: Redact,
): Promise<T> {
  const clean = async (text: string) => (await redact(text)).text
  const [actor, reason, evidence] = await Promise.all([
    by.actor === 'user' ? by.actor : clean(by.actor),
    clean(by.reason),
    Promise.all((by.evidence ?? []).map(async (each) => ({ ...each, excerpt: await clean(each.excerpt) }))),
  ])
  return { ...by, actor, reason, evidence }
}

type Deps = {
  tombstones: Tombstones
  redact: Redact
  teamEnabled: () => boolean
  logsEnabled: () => boolean
  /** The directories of one project: what is rejected in one is rejected in all. */
  ofSameProject: (dir: string) => string[]
}

/** What is to be written: `form` says whether the shape of the text is checked, which old content may not have. */
export type Wish = { dir: string; file: string; content: string; before: string; form: 'checked' | 'as-it-was' }

export type Judge = ReturnType<typeof createJudge>

export type Judged = { content: string; redacted: string[]; advice: string[] }

export function createJudge({ tombstones, redact, teamEnabled, logsEnabled, ofSameProject }: Deps) {
  const refuse = (reason: string, message: string, hint?: string) =>
    new MemoryError('REFUSED', message, { reason, hint })

  const checkName = (file: string): void => {
    const name = checkFileName(file)
    if (!name.ok) throw refuse('path', name.refused)
    if (isLog(file) && !logsEnabled())
      throw refuse('path', `${file} is a daily log, and those are off`, 'set dailyLog.enabled')
    if (file.startsWith('team/') && !teamEnabled())
      throw refuse('path', `${file} lies in the team's folder, and team memory is off`, 'set team.enabled')
  }

  /** A name stands in the journal for good, also that of a file which goes. */
  const refuseTelling = async (file: string): Promise<void> => {
    if ((await nameWithoutCredential(file, redact)) !== file)
      throw refuse('secret', 'the name of the file seems to hold a credential', 'rename or delete it by hand')
  }

  const checkShape = ({ file, content, before }: Wish, known: readonly string[]): string[] => {
    if (isIndex(file)) {
      const unfit = indexProblems(content, known, { before }).filter((problem) => problem.kind !== 'dangling')
      if (unfit[0]) throw refuse('shape', `line ${unfit[0].line} of the index: ${unfit[0].text}`)
      return []
    }
    if (isLog(file)) {
      if (!content.startsWith(before))
        throw refuse('shape', `${file} is a log: what it holds stays, and new lines come after it`)
      if (/[\0\p{Cs}]/u.test(content)) throw refuse('shape', `${file} holds what is no text`)
      return []
    }
    const problems = topicProblems(content)
    const unfit = problems.find((problem) => problem.weight === 'refuse')
    if (unfit) throw refuse('shape', `${file}: ${unfit.text}`)
    if (file.startsWith('team/') && parseTopic(content).type === 'user')
      throw refuse('shape', `${file}: what is known of a person is never shared with the team`)
    return problems.map((problem) => problem.text)
  }

  const judge = async (wish: Wish, known: readonly string[]): Promise<Judged> => {
    checkName(wish.file)
    const clean = await redact(wish.content)
    if (clean.kinds.length > 0 && wish.file.startsWith('team/'))
      throw refuse('secret', `${wish.file} seems to hold a credential (${clean.kinds.join(', ')})`, 'leave it out')
    const advice = wish.form === 'checked' ? checkShape({ ...wish, content: clean.text }, known) : []
    // As long as nothing was ever rejected there is nothing to compare with.
    const grave =
      tombstones.stamp() === ''
        ? undefined
        : tombstones.find(ofSameProject(wish.dir), spokenValues(wish.file, clean.text))
    if (grave)
      throw refuse(
        'rejected-value',
        `${wish.file} says again what was rejected on ${new Date(grave.at).toISOString().slice(0, 10)}`,
        `if it holds after all, lift tombstone ${grave.id} first`,
      )
    return { content: clean.text, redacted: clean.kinds, advice }
  }

  return { judge, checkName, refuseTelling }
}

/** A name as it may be kept. Looked through without its ending: glued to that, a value looks like a file. */
export async function nameWithoutCredential(file: string, redact: Redact): Promise<string> {
  const { text, kinds } = await redact(file.replace(/\.md$/, ''))
  return kinds.length > 0 ? text : file
}

/** Everything a file says, wherever it says it: body, description, name, or the hooks of an index. */
export function spokenValues(file: string, text: string): string[] {
  if (isIndex(file)) return valuesOf(...parsePointers(text).flatMap(({ title, hook }) => [title, hook]))
  const { body, name = '', description = '' } = parseTopic(text)
  return [...wholeValue(body), ...valuesOf(body, name, description)]
}

/** What a rejection is about: what a memory says, not what it is called. */
export function rejectedValues(file: string, text: string): string[] {
  if (isIndex(file)) return spokenValues(file, text)
  const { body } = parseTopic(text)
  return [...wholeValue(body), ...valuesOf(body)]
}

/** A refusal as it is told and as the journal keeps it: that something was turned down and why, never what it said. */

const FILE_CHARS = 600
const REASON_CHARS = 500

export function isRefusal(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.code === 'REFUSED'
}

export function whyRefused({ reason, message }: MemoryError): string {
  return `${reason}: ${message}`
}

type Refused = { at: number; dir: string; file: string; why: string; by: Pick<By, 'actor' | 'runId'> }

export async function refusalOf({ at, dir, file, why, by }: Refused, redact: Redact): Promise<NewChange> {
  const name = await nameWithoutCredential(file, redact)
  // A message shows a long name cut short, and half a credential is not recognised.
  const told = name === file ? why : 'secret: the name of the file seems to hold a credential'
  return {
    at,
    dir,
    file: name.slice(0, FILE_CHARS),
    op: 'refused',
    actor: by.actor,
    reason: (await redact(told)).text.slice(0, REASON_CHARS),
    runId: by.runId,
    before: undefined,
    after: undefined,
    undoable: false,
    evidence: [],
  }
}

/** Takes credentials out of texts that are asked for again and again: looked through once, then known by their hash. */

/** Of an index, which may have a megabyte. */
const MOST_LONG = 8
/** Of names and reasons: every write has some, and mostly the same ones. */
const MOST_SHORT = 256
const SHORT_CHARS = 300

type Redacted = Awaited<ReturnType<Redact>>

/** Long texts come once, as a rule. */
export function redactShortOnce(redact: Redact): Redact {
  const once = remembered(redact, MOST_SHORT)
  return (text) => (text.length > SHORT_CHARS ? redact(text) : once(text))
}

export function redactOnce(redact: Redact): (text: string) => Promise<string> {
  const once = remembered(redact, MOST_LONG)
  return async (text) => (await once(text)).text
}

function remembered(redact: Redact, most: number): Redact {
  const kept = new Map<string, Redacted>()
  return async (text) => {
    if (text === '') return { text, kinds: [] }
    const key = hashOf(text)
    const clean = kept.get(key) ?? (await redact(text))
    // The map is in order of use.
    kept.delete(key)
    kept.set(key, clean)
    if (kept.size > most) kept.delete(kept.keys().next().value as string)
    return clean
  }
}

/**
 * Which names of files give a credential away: a person may have made such a file, and then its name is told to nobody. What is
 * in the journal has none, so that only others have to be looked through, each once.
 */

export type TellingNames = {
  /** Looks through a name and remembers it if it gives something away. */
  isTelling(file: string): Promise<boolean>
  /** As far as it was looked through. */
  isKnownTelling(file: string): boolean
}

export function createTellingNames(redact: Redact): TellingNames {
  const telling = new Set<string>()
  return {
    isTelling: async (file) => {
      if (telling.has(file)) return true
      if ((await nameWithoutCredential(file, redact)) === file) return false
      telling.add(file)
      return true
    },
    isKnownTelling: (file) => telling.has(file),
  }
}
