/**
 * One run of a model over what is new in a session: what it is told, what of its changes is let through, and how they are
 * finished before they are applied. Decides about changes as they are made; the fork sees to everything else.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Evidence } from '../../memory/journal.ts'
import { datedText, relativeDaysIn, tooLong } from './dating.ts'
import { extractionDirective, type NewMessage, TURNS } from './directive.ts'
import { aboutOf, excerptOf } from './excerpt.ts'
import { formTrouble } from './form.ts'
import { type Draft, evidenceOf, type Ground, type Part, spokenIn, wholeOf } from './ground.ts'
import { linesAdded, shownTail, withLines } from './log-lines.ts'
import { rule } from './provenance.ts'
import { withoutGuess } from './units.ts'
import { hear, type Spoken, type Voices, voicesOf } from './voices.ts'

/** What a fork needs for it. */
export type Extracting = {
  directive: string
  shown: { file: string; hash: string }[]
  check: (draft: Draft) => Promise<string | undefined>
  cite: (names: readonly string[], content: string | null) => { evidence: Evidence[] } | { refused: string }
  /** What its own tools have shown it. */
  onShown: (text: string) => void
  /** As they are to be applied. */
  finish: (drafts: readonly Draft[]) => Promise<Draft[]>
  turns: number
}

export function extracting(ground: Ground, { sessionId, messages, names, news, nowMs }: Part): Extracting {
  const fresh = new Set(news.map(({ uid }) => uid))
  const everything = spokenIn(messages, names, nowMs)
  const told = everything.filter(({ id }) => fresh.has(id))
  const spoken = new Map(told.map((message) => [message.id, message]))
  // A model that went on from a harness's own conversation has seen no names: it is given some.
  const own = new Map(told.map(({ id }, n) => [`m${n + 1}`, id]))
  const known = names.size > 0 ? names : own
  const nameOf = new Map([...known].map(([name, id]) => [id, name]))
  const listed: NewMessage[] = told.map((message) => {
    const { id, by } = message
    return { name: nameOf.get(id) ?? '', by, text: wholeOf(message) }
  })
  const log = ground.log === undefined ? undefined : { file: ground.log, text: ground.textOf(ground.log) }
  const logHash = log && ground.hashOf(log.file)
  const added: string[] = []
  const doubted = new Set<string>()
  const shown: string[] = []
  let heard: Voices | undefined

  /** Made with the first change there is: most runs make none. */
  const voices = (): Voices => {
    if (!heard) {
      heard = voicesOf(everything)
      for (const text of ground.untrustedTexts()) hear(heard.others, text)
    }
    for (const text of shown.splice(0)) hear(heard.others, text)
    return heard
  }

  const citedBy = (draft: Draft): Spoken[] => {
    const ids = new Set(draft.because.evidence.flatMap(({ messageIds }) => messageIds))
    return told.filter(({ id }) => ids.has(id))
  }

  const textIn = ({ content }: Draft): string => (content === null ? '' : ground.evidenceIn(content).text)

  const ruled = (draft: Draft, text: string) => {
    const { file, content } = draft
    const old = ground.textOf(file)
    const before = old === '' ? undefined : ground.memoryOf(old)
    const after = content === null ? null : ground.memoryOf(text)
    return rule({ file, before, after, cited: citedBy(draft), isDoubted: doubted.has(file) }, voices())
  }

  /** Where a model only guessed how the person's words are to be applied, the guess is left out and the words are kept. */
  const keptOf = (draft: Draft) => {
    const text = textIn(draft)
    const ruling = ruled(draft, text)
    const bare = withoutGuess(text, ground.textOf(draft.file))
    if (bare === text || ('trust' in ruling && ruling.trust === 'person')) return { text, ruling }
    const second = ruled(draft, bare)
    return 'trust' in second && second.trust === 'person' ? { text: bare, ruling: second } : { text, ruling }
  }

  const finished = (draft: Draft): Draft => {
    const { file, content } = draft
    const text = ground.textOf(file)
    const about = aboutOf(content === null ? text : log ? added.join('\n') : textIn(draft))
    const evidence = draft.because.evidence.map((each) => {
      const message = spoken.get(each.messageIds[0] ?? '')
      return message ? { ...each, excerpt: excerptOf(wholeOf(message), about) } : each
    })
    const because = { ...draft.because, evidence }
    if (log) return { ...draft, because, content: withLines(text, added) }
    return { ...draft, because, content: content === null ? null : contentOf(draft) }
  }

  const contentOf = (draft: Draft): string => {
    const dated = datedText(ground.textOf(draft.file), keptOf(draft).text, citedBy(draft))
    return doubted.has(draft.file) ? ground.markUntrusted(dated) : dated
  }

  const checkLog = async (draft: Draft, { file, text }: { file: string; text: string }) => {
    if (draft.file !== file) return `everything goes into ${file}, as lines`
    const lines = linesAdded({ file, text, added }, draft.content, citedBy(draft), voices())
    if ('refused' in lines) return lines.refused
    const refused = await ground.refuses({ ...draft, content: withLines(text, [...added, ...lines.lines]) })
    if (refused === undefined) added.push(...lines.lines)
    return refused
  }

  const checkTopic = async (draft: Draft) => {
    const { file } = draft
    const { text, ruling } = keptOf(draft)
    const memory = ground.memoryOf(text)
    const isNew = ground.hashOf(file) === undefined
    const form = draft.content === null ? undefined : formTrouble({ file, isNew, memory, problem: memory.problem })
    if ('refused' in ruling) return ruling.refused
    if (form !== undefined) return form
    if (tooLong(text)) return `a line of ${file} is longer than anybody reads`
    if (ruling.trust === 'untrusted') doubted.add(file)
    const content = draft.content === null ? null : contentOf(draft)
    const days = content === null ? [] : relativeDaysIn(ground.textOf(file), content)
    if (days.length > 0) return `${days.join(', ')}: name the day itself, as in 2026-03-31`
    return ground.refuses({ ...draft, content })
  }

  return {
    turns: TURNS,
    directive: extractionDirective({
      memoryDir: ground.dir,
      news: listed,
      transcript: names.size > 0 ? 'shown' : 'unnamed',
      manifest: ground.manifest,
      team: ground.team,
      log: log && { file: log.file, tail: shownTail(log.text) },
    }),
    shown: log && logHash !== undefined ? [{ file: log.file, hash: logHash }] : [],
    onShown: (text) => void shown.push(text),
    cite: (given, content) => {
      const cited = given.length > 0 ? given : content === null ? [] : ground.evidenceIn(content).names
      const found = cited.flatMap((name) => spoken.get(known.get(name.trim()) ?? '') ?? [])
      if (found.length > 0) return { evidence: [...new Set(found)].map((message) => evidenceOf(sessionId, message)) }
      const [first, last] = [listed[0]?.name, listed.at(-1)?.name]
      return { refused: `name the new messages that this rests on (${first} to ${last}) as evidence` }
    },
    check: async (draft) => {
      // Others get their turn between two changes: there may be fifty at once.
      await turn()
      return log ? checkLog(draft, log) : checkTopic(draft)
    },
    finish: async (drafts) => {
      const done: Draft[] = []
      for (const draft of drafts) {
        await turn()
        done.push(finished(draft))
      }
      return done
    },
  }
}
