/** Weighs one sentence: what its cues say for each type, less what speaks against it. Pure. */
import type { MemoryType } from '../../schema/memory.ts'
import { confirmations } from './rules/confirmations.ts'
import { doubts, messageDoubts, taskStart, taskStartChinese } from './rules/doubts.ts'
import { explicit } from './rules/explicit.ts'
import { feedback } from './rules/feedback.ts'
import { feedbackChinese } from './rules/feedback-chinese.ts'
import { project } from './rules/project.ts'
import { projectChinese } from './rules/project-chinese.ts'
import { reasons } from './rules/reasons.ts'
import { reference, referenceChinese } from './rules/reference.ts'
import type { Cue } from './rules/rule.ts'
import { terse } from './rules/terse.ts'
import { user, userChinese } from './rules/user.ts'
import type { Sentence } from './sentences.ts'

export type Judged = Sentence & {
  /** Nothing where a doubt rules it out. */
  type: MemoryType | undefined
  weight: number
  ruledOutBy: string | undefined
  cues: string[]
  remedyFollows: boolean
}

const plain: readonly Cue[] = [
  ...explicit,
  ...feedback,
  ...terse,
  ...confirmations,
  ...user,
  ...reference,
  ...project,
  ...reasons,
]
const chinese: readonly Cue[] = [...feedbackChinese, ...userChinese, ...referenceChinese, ...projectChinese]

/** All that a sentence is looked at with. */
export const patterns: readonly RegExp[] = [
  ...[...plain, ...chinese].flatMap(({ pattern, to }) => (to ? [pattern, to] : [pattern])),
  ...[...messageDoubts, ...doubts].map(({ pattern }) => pattern),
  taskStart,
  taskStartChinese,
]

/** Where two types weigh the same, the one that is harder to see by chance. */
const order: readonly MemoryType[] = ['reference', 'user', 'project', 'feedback']

/** Cues that say what a sentence is about hold even where it begins like an order: "from now on run the linter". */
const STANDING =
  /^(?:scope|remember|for the future|we always|from|a habit|less of that|look there|ask before|记住|以后|从)/

export function ruledOut(text: string): string | undefined {
  return messageDoubts.find(({ pattern }) => pattern.test(text))?.name
}

export function judge(sentence: Sentence, { answering }: { answering: string }): Judged {
  const { heard } = sentence
  const isChinese = /\p{Script=Han}/u.test(heard)
  const cues = (isChinese ? [...plain, ...chinese] : plain).filter(
    (cue) => counts(cue, answering) && cue.pattern.test(heard),
  )
  const none = {
    ...sentence,
    type: undefined,
    weight: 0,
    cues: cues.map(({ name }) => name),
    remedyFollows: cues.some((cue) => cue.remedyFollows),
  }
  const against = doubts.filter(({ pattern }) => pattern.test(heard))
  const veto = against.find(({ weight }) => weight === 'veto')
  if (veto) return { ...none, ruledOutBy: veto.name }
  const task = taskStart.test(heard) || (isChinese && taskStartChinese.test(heard))
  if (task && !cues.some(({ name }) => STANDING.test(name))) return { ...none, ruledOutBy: 'a piece of work' }
  if (cues.length === 0) return { ...none, ruledOutBy: undefined }

  const sum = (type: Cue['type']) => total(cues.filter((cue) => cue.type === type))
  const sums = order.map((type) => ({ type, weight: sum(type) }))
  const strongest = sums.reduce((best, each) => (each.weight > best.weight ? each : best))
  const less = against.reduce((before, { weight, against: types }) => {
    if (weight === 'veto' || (types && !types.includes(strongest.type))) return before
    return before + weight
  }, 0)
  return {
    ...none,
    // Half of what speaks for the other types: it is durable either way.
    weight: strongest.weight + sum('any') + (total(cues) - strongest.weight - sum('any')) / 2 - less,
    type: strongest.weight > 0 ? strongest.type : 'project',
    ruledOutBy: undefined,
  }
}

function counts(cue: Cue, answering: string): boolean {
  if (cue.to) return cue.to.test(answering)
  return answering !== '' || !cue.answers
}

export function total(weighed: readonly { weight: number }[]): number {
  return weighed.reduce((sum, { weight }) => sum + weight, 0)
}
