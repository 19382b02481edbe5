/** Decides whether a text may become a memory: shape, credentials, rejected values. Writes nothing. */
import { MemoryError } from '../../schema/errors.ts'
import { checkFileName, isLog } from './file-names.ts'
import { isIndex } from './folder.ts'
import { indexProblems, parsePointers } from './index-file.ts'
import type { Evidence } from './journal.ts'
import type { Tombstones } from './tombstones.ts'
import { parseTopic, topicProblems } from './topic-file.ts'
import { valuesOf, wholeValue } from './values.ts'

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
