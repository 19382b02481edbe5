/** Checks the text of a topic file that somebody wants to write. Pure. */
import { MemoryType } from '../../schema/memory.ts'
import { parseTopic, TOPIC_BYTES } from './topic-file.ts'

export type TopicProblem = {
  /** `refuse`: not fit to be written. `advice`: written all the same, and said to whoever wrote it. */
  weight: 'refuse' | 'advice'
  kind: 'size' | 'text' | 'front-matter' | 'name' | 'description' | 'type' | 'why' | 'how-to-apply'
  text: string
}

export function topicProblems(text: string): TopicProblem[] {
  const bytes = Buffer.byteLength(text)
  if (bytes > TOPIC_BYTES)
    return [refuse('size', `it has ${bytes} bytes, a memory at most ${TOPIC_BYTES}; split it by topic`)]
  if (text.includes('\0')) return [refuse('text', 'it holds a NUL byte')]
  if (/\p{Cs}/u.test(text)) return [refuse('text', 'it holds half of a surrogate pair, which UTF-8 cannot express')]

  const { name, description, type, body, raw, problem } = parseTopic(text)
  if (raw.trim() === '')
    return [
      refuse(
        'front-matter',
        problem ?? 'it has no front matter; start with name, description and type between --- lines',
      ),
    ]
  const problems: TopicProblem[] = []
  // Claude Code reads such a file too: what can be made out of it decides.
  if (problem !== undefined) problems.push({ weight: 'advice', kind: 'front-matter', text: problem })
  if (name === undefined) problems.push(refuse('name', 'the front matter has no name'))
  if (description === undefined)
    problems.push(refuse('description', 'the front matter has no description; say in one line what the memory holds'))
  if (type === undefined)
    problems.push(refuse('type', `the front matter has no type; use one of ${MemoryType.options.join(', ')}`))
  if (type === 'feedback' || type === 'project') {
    if (!/\*\*Why\b/i.test(body)) problems.push(advise('why', type))
    if (!/\*\*How to apply\b/i.test(body)) problems.push(advise('how-to-apply', type))
  }
  return problems
}

function refuse(kind: TopicProblem['kind'], text: string): TopicProblem {
  return { weight: 'refuse', kind, text }
}

function advise(kind: 'why' | 'how-to-apply', type: string): TopicProblem {
  const line = kind === 'why' ? '**Why:**' : '**How to apply:**'
  return { weight: 'advice', kind, text: `a ${type} memory should have a ${line} line` }
}
