/** Whether an answer that arrived whole is one: not refused, and of the form that was asked for. Pure. */
import type { z } from 'zod'
import { failure } from './failure.ts'
import { parseJson } from './json-answer.ts'
import type { ModelAnswer, ModelFailure } from './provider.ts'

/** Its usage counts, whatever it says. */
export function judged(answer: ModelAnswer | ModelFailure, schema: z.ZodType | undefined): ModelAnswer | ModelFailure {
  if ('failed' in answer) return answer
  const known = {
    usage: answer.usage,
    spent: 'final' as const,
    ...(answer.requestId !== undefined && { requestId: answer.requestId }),
  }
  if (answer.stop === 'refusal') return failure('refused', 'the model would not answer', known)
  if (!schema) return answer
  const text = answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  const value = parseJson(withoutFence(text))
  if (value === undefined)
    return failure(
      'garbage',
      `the answer is not JSON${answer.stop === 'max_tokens' ? ': cut at max_tokens' : ''}`,
      known,
    )
  const checked = schema.safeParse(value)
  if (checked.success) return { ...answer, output: checked.data }
  const { path, message } = checked.error.issues[0] as z.core.$ZodIssue
  return failure(
    'garbage',
    `the answer has another form: ${path.map(String).join('.') || 'as a whole'}: ${message}`,
    known,
  )
}

/** Small models put their JSON into a fence, whatever they are told. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1] ?? text
}
