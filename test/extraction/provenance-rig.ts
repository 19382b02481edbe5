/** What becomes of a memory that a model writes, without a daemon around it: who said what, and what it makes of it. */
import { rule } from '../../daemon/extraction/model/provenance.ts'
import { hear, type Spoken, voicesOf } from '../../daemon/extraction/model/voices.ts'
import { memoryOf } from '../../daemon/memory/change-run.ts'

type Type = 'user' | 'feedback' | 'project' | 'reference'
type Scene = {
  /** What the person says; the last of it is new and cited. */
  person: string | readonly string[]
  tool?: string
  agent?: string
  /** What the run itself has read. */
  read?: string
  file?: string
  before?: string
}

export const memory = (type: Type, body: string, { name = '', description = '', trust = '' } = {}) => {
  const first = body.split('\n')[0] ?? ''
  const mark = trust === '' ? '' : `\ntrust: ${trust}`
  return `---\nname: ${JSON.stringify(name || first)}\ndescription: ${JSON.stringify(description || first)}\ntype: ${type}${mark}\n---\n\n${body}\n`
}

const spoken = (id: string, by: Spoken['by'], text: string): Spoken => ({
  id,
  by,
  text,
  shown: [],
  at: 1_800_000_000_000,
})

/** As whose word it is kept, or why it is not. */
export function verdictOn(content: string | null, scene: Scene): string {
  const { tool, agent, read, before, file = 'feedback_x.md' } = scene
  const said = [scene.person].flat()
  const persons = said.map((text, n) => spoken(`p${n}`, 'person', text))
  const earlier = persons.slice(0, -1)
  const last = persons.slice(-1)
  const messages = [
    ...earlier,
    ...(tool === undefined ? [] : [spoken('t', 'tool', tool)]),
    ...(agent === undefined ? [] : [spoken('a', 'agent', agent)]),
    ...last,
  ]
  const voices = voicesOf(messages)
  if (read !== undefined) hear(voices.others, read)
  const ruling = rule(
    {
      file,
      before: before === undefined ? undefined : memoryOf(before),
      after: content === null ? null : memoryOf(content),
      cited: last,
      isDoubted: false,
    },
    voices,
  )
  return 'refused' in ruling ? ruling.refused : ruling.trust
}
