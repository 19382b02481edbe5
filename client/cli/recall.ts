/** `memoryd recall` and `memoryd why --session`. */
import type { Contract } from '../../schema/contract.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Context } from './context.ts'
import { asPerson } from './person.ts'

export type RecallOptions = {
  mode: 'auto' | 'local' | 'model'
  lines?: number
  session?: string
  harness: string
  explain?: boolean
}

type Answer = Contract['recall']['answer']

const MOST = 5
const reasons: Record<NonNullable<Answer['skipped']>, string> = {
  off: 'memory is off here',
  short: 'there is nothing to look for in this',
  budget: 'the session has no room left for what fits',
  none: 'no memory fits',
}

export async function recall(context: Context, query: string, given: RecallOptions & { cwd: string }): Promise<void> {
  const { cwd, mode, lines, session, harness, explain } = given
  if (lines !== undefined && lines > MOST)
    throw new MemoryError('BAD_REQUEST', `at most ${MOST} memories are given for one question`, { hint: '-n 5' })
  const answer = await asPerson(context, (client) =>
    client.recall({ cwd, query, mode, harness, k: lines, sessionId: session, explain }),
  )
  context.print.result(answer, () => [
    ...(answer.skipped ? [reasons[answer.skipped]] : printable(answer.text)),
    ...(answer.explain ? explained(answer, answer.explain) : []),
  ])
}

function printable(text: string): string[] {
  return text.replace(/\n$/, '').split('\n')
}

function explained({ mode }: Answer, { fit, enough, ranked, model }: NonNullable<Answer['explain']>): string[] {
  const verdict = fit >= enough ? 'enough' : 'too little'
  return [
    '',
    `selected by ${mode === 'model' ? 'the model' : 'words'}${model === undefined ? '' : ` (model: ${model})`}; the best fits ${fit.toFixed(2)} of the question, ${verdict} (${enough})`,
    ...ranked.map(
      (each) =>
        `${each.score.toFixed(2).padStart(7)}  ${each.fit.toFixed(2)}  ${inOneLine(each.file)}  ${each.words.join(' ')}`,
    ),
  ]
}

export async function whySession(context: Context, id: string): Promise<void> {
  const { items, sessionBytes } = await asPerson(context, (client) => client.recalled({ id }))
  context.print.result({ items, sessionBytes }, () =>
    items.length === 0
      ? ['this session was given no memory']
      : [
          ...items.map(
            ({ at, harness, path, bytes, mode, counts }) =>
              `${at}  ${inOneLine(path)}  ${bytes} bytes, by ${mode === 'model' ? 'the model' : 'words'}, ${harness}${counts ? '' : ', before it was compacted'}`,
          ),
          `${sessionBytes} bytes count`,
        ],
  )
}

/** A file may have a line break in its name; a list must not be made to say more than there is. */
function inOneLine(file: string): string {
  return file.replace(/[\r\n]/g, '\ufffd')
}
