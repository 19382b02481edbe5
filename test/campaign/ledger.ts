/**
 * What was done to the memories of a project, and what may have been: files, index and journal are held against it. Each file has one
 * client that writes it, one operation at a time, so that at a kill at most one change of a file is undecided.
 */
import { hashOf } from '../support/fault-oracle.ts'

/** `null`: no such file. */
export type Text = string | null

/** What the journal has of a change. `run`: of which it is a part. */
export type Change = { id: number; file: string; op: string; actor: string; run: string | null; hash: string | null }

/** A change that was acknowledged; those of a run get their numbers from the journal. */
export type Done = { change: string; before: Text; after: Text }

/** A change that was asked for: of several files all or none. Without a file, of one that the daemon names. */
export type Attempt = {
  files: ReadonlyMap<string, Text>
  /** In the text of the file that the daemon names. */
  token?: string
}

type Entry = {
  now: Text
  /** Not yet seen in the journal. */
  acknowledged: Done[]
  open: Attempt | undefined
  /** In order, as they may be undone. */
  past: Done[]
  /** Written by a person, with each text that the journal may name. */
  edited: Set<string | null>
  tip: string | null
  isOfPerson: boolean
  /** A memory that says the same stands beside it: a dream may merge it away. */
  mayMerge: boolean
}

/** What was said in a transcript. `lost`: a power cut took it from there, before or after it was read. */
export type Rule = { token: string; where: string; state: 'said' | 'lost'; file?: string }

/** What a look at a project found. `changes`: those since the last look, the oldest first. */
export type Found = { files: ReadonlyMap<string, string>; changes: readonly Change[] }

export type Ledger = ReturnType<typeof createLedger>

const hashOrNone = (text: Text) => (text === null ? null : hashOf(text))

export function createLedger() {
  const entries = new Map<string, Entry>()
  const unnamed = new Set<Attempt>()
  const rules = new Map<string, Rule>()
  const absent = (): Entry => ({
    ...{ now: null, acknowledged: [], open: undefined, past: [], edited: new Set<string | null>() },
    ...{ tip: null, isOfPerson: false, mayMerge: false },
  })
  const entryOf = (file: string): Entry => {
    const entry = entries.get(file) ?? absent()
    entries.set(file, entry)
    return entry
  }

  const begin = (attempt: Attempt) => {
    for (const [file] of attempt.files) entryOf(file).open = attempt
    if (attempt.token !== undefined) unnamed.add(attempt)
    const close = () => {
      unnamed.delete(attempt)
      for (const [file] of attempt.files) entryOf(file).open = undefined
    }
    const put = (file: string, after: Text, change: string) => {
      const entry = entryOf(file)
      const done = { change, before: entry.now, after }
      entry.acknowledged.push(done)
      entry.past.push(done)
      entry.now = after
    }
    return {
      /** In the order of its files. */
      acknowledged: (changes: readonly string[]) => {
        for (const [n, [file, after]] of [...attempt.files].entries()) put(file, after, changes[n] ?? '')
        close()
      },
      named: (file: string, text: string, change: string) => {
        put(file, text, change)
        close()
      },
      refused: close,
    }
  }

  /** What is in the journal of one file since the last look, and whether it is what was acknowledged. */
  const judge = (file: string, entry: Entry, news: readonly Change[]) => {
    const problems: string[] = []
    const own = news.filter(({ actor }) => actor !== 'external')
    for (const { actor, hash } of news)
      if (actor === 'external' && !entry.edited.has(hash)) problems.push('an edit of a person that was none')
    const due = entry.acknowledged.splice(0)
    for (const done of due) {
      const next = own.shift()
      if (!next) problems.push(`acknowledged and not in the journal: ${done.change || 'one of a run'}`)
      else if (next.hash !== hashOrNone(done.after) || (done.change !== '' && done.change !== String(next.id)))
        problems.push(`in place of the acknowledged change ${done.change} the journal has ${next.id}`)
      else done.change = String(next.id)
    }
    const after = entry.open?.files.get(file)
    const [first] = own
    const isApplied = after !== undefined && first !== undefined && first.hash === hashOrNone(after)
    if (isApplied) {
      own.shift()
      entry.past.push({ change: String(first.id), before: entry.now, after })
      entry.now = after
    }
    const merged = own[0]
    if (entry.mayMerge && merged?.run?.startsWith('dream-') && merged.hash === null) {
      own.shift()
      Object.assign(entry, { now: null, past: [], mayMerge: false })
    }
    for (const { id, op, actor } of own) problems.push(`not asked for: ${op} by ${actor} (${id})`)
    entry.tip = news.length > 0 ? (news.at(-1)?.hash ?? null) : entry.tip
    return { problems, isApplied }
  }

  /** A file that the daemon has named itself: for what was asked to be remembered, or was stated. */
  const adopt = (file: string, text: string | undefined, news: readonly Change[]): string[] => {
    const [first, ...more] = news
    if (!first) return ['nothing of it is in the journal']
    if (text === undefined) return ['journaled, and not there']
    const attempt = [...unnamed].find(({ token }) => text.includes(token ?? ''))
    const rule = [...rules.values()].find(({ token }) => text.includes(`${token} `))
    const problems = more.map(({ op }) => `not asked for: ${op}`)
    if (!attempt && !rule) problems.push('it is not known who wrote it')
    if (first.op !== 'create' || first.hash !== hashOf(text)) problems.push(`${first.op} of another text`)
    if (attempt) unnamed.delete(attempt)
    if (rule?.file !== undefined) problems.push(`stated once and saved again, before as ${rule.file}`)
    if (rule) rule.file = file
    const past = [{ change: String(first.id), before: null, after: text }]
    entries.set(file, { ...absent(), now: text, past, tip: first.hash })
    return problems
  }

  return {
    begin,
    entry: (file: string): Readonly<Entry> | undefined => entries.get(file),
    files: () => entries.entries(),
    rules,
    mayMerge: (file: string) => {
      entryOf(file).mayMerge = true
    },
    /** By a person, in an editor: it is there at once, and the journal hears of it later. */
    edit: (file: string, text: Text) => {
      const entry = entryOf(file)
      entry.edited.add(hashOrNone(text))
      entry.isOfPerson ||= entry.now === null
      // What was before an edit cannot be had back by undoing what came before it.
      Object.assign(entry, { now: text, past: [] })
    },
    /** An edit that may have been lost with the power. */
    unsure: (file: string, now: Text) => {
      entryOf(file).now = now
      // The journal may have heard of the other one, and hears of this one then.
      entryOf(file).edited.add(hashOrNone(now))
    },
    /** Once all writes have ended. What was undecided is decided by what is found. */
    settle: ({ files, changes }: Found): string[] => {
      const problems: string[] = []
      const verdicts = new Map<Attempt, Set<boolean>>()
      const byFile = Map.groupBy(changes, ({ file }) => file)
      for (const file of new Set([...entries.keys(), ...files.keys(), ...byFile.keys()])) {
        const news = (byFile.get(file) ?? []).filter(({ op }) => op !== 'refused')
        const text = files.get(file)
        const say = (problem: string) => problems.push(`${file}: ${problem}`)
        const entry = entries.get(file)
        if (!entry || isFree(entry, news)) {
          if (news.length > 0 || text !== undefined) adopt(file, text, news).forEach(say)
          continue
        }
        const { open } = entry
        const verdict = judge(file, entry, news)
        verdict.problems.forEach(say)
        if (open) verdicts.set(open, (verdicts.get(open) ?? new Set()).add(verdict.isApplied))
        entry.open = undefined
        if ((text ?? null) !== entry.now) say(differs(text ?? null, entry.now))
        else if (entry.edited.size === 0 && entry.tip !== hashOrNone(entry.now))
          say('the journal ends with another text')
        entry.now = text ?? null
        if (entry.tip === hashOrNone(entry.now)) entry.edited.clear()
      }
      for (const [{ files: group }, ends] of verdicts)
        if (ends.size > 1) problems.push(`happened in part: ${[...group.keys()].join(', ')}`)
      unnamed.clear()
      return problems
    },
    /** Edits of persons that the journal has not heard of. */
    unheard: () => [...entries].flatMap(([file, { edited }]) => (edited.size > 0 ? [file] : [])),
    /** Of each memory one line; persons may have lines of their own. */
    indexProblems: (index: readonly string[]): string[] => {
      const lines = index.flatMap((line) => /^- \[[^\]]*\]\(([^)]+)\)/.exec(line)?.[1] ?? [])
      const problems: string[] = []
      for (const [file, { now, isOfPerson }] of entries) {
        const count = lines.filter((line) => line === file).length
        if (count > 1) problems.push(`${count} index lines: ${file}`)
        if (isOfPerson) continue
        if (now !== null && count === 0) problems.push(`no index line: ${file}`)
        if (now === null && count > 0) problems.push(`an index line without its file: ${file}`)
      }
      return problems
    },
  }
}

/** A name that was given up may be given to another. */
function isFree({ now, open, acknowledged, edited }: Entry, [first]: readonly Change[]): boolean {
  const isQuiet = open === undefined && acknowledged.length === 0 && edited.size === 0
  return isQuiet && now === null && first?.op === 'create' && first.actor !== 'external'
}

function differs(found: Text, expected: Text): string {
  if (found === null) return 'acknowledged, and gone'
  if (expected === null) return 'there, and should not be'
  return `another text than was acknowledged: ${JSON.stringify(found.slice(-60))} in place of ${JSON.stringify(expected.slice(-60))}`
}
