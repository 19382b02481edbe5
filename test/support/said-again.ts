/**
 * Every way by which words become a memory, in one place. A new route that takes words in belongs here: the test that
 * uses this list compares it with the route table.
 */
import type { StrictClient } from '../../client/index.ts'
import type { Writer } from '../../daemon/memory/writer.ts'
import type { RouteName } from '../../schema/route-table.ts'
import { header, inPieces, sealed } from './carry.ts'
import { memoryd } from './cli.ts'
import type { Home } from './home.ts'
import { topic } from './memory.ts'

export type Ground = { home: Home; person: StrictClient; agent: StrictClient; cwd: string; dir: string; run: string }

export type EntryPoint = {
  name: string
  route: RouteName
  /** Only where a model's change waits for a person. */
  review?: 'required'
  /** A process each time: once, in all disguises together, is enough. */
  cost?: 'high'
  /** What only a model does, done before the daemon starts. */
  beforeStart?(writer: Writer, ground: Pick<Ground, 'dir' | 'run'>, text: string): Promise<unknown>
  /** Gets everything ready, and gives the attempt to say it: more than once, if need be. */
  open(ground: Ground, text: string): Promise<() => Promise<unknown>>
}

/**
 * Routes that change something and take no words in, or none that become a memory by themselves. What is said in a turn may
 * become one later, if rules find it stated plainly, which disguises are not: `flows/extraction.test.ts` says it again.
 */
export const wordless: readonly RouteName[] = [
  'acknowledgeMail',
  'compact',
  'dream',
  'forget',
  'forgetAgentMemory',
  'hook',
  'importTranscripts',
  'cancelRecall',
  'prefetchRecall',
  'recall',
  'keepToolResults',
  'killJob',
  'liftTombstone',
  'measureContext',
  'microcompact',
  'moveProject',
  'pause',
  'pushTurn',
  'registerAgent',
  'renewPrompt',
  'resume',
  'retryJob',
  'sendMail',
]

const put = (
  name: string,
  by: 'person' | 'agent',
  write: (text: string) => { file: string; content: string },
): EntryPoint => ({
  name,
  route: 'putMemory',
  open: async (ground, text) => () => ground[by].putMemory({ cwd: ground.cwd, ...write(text) }),
})

export const entryPoints: readonly EntryPoint[] = [
  put('a memory that a person writes', 'person', (text) => ({ file: 'new.md', content: topic(text) })),
  put('a memory that an agent writes', 'agent', (text) => ({ file: 'new.md', content: topic(text) })),
  put('one item among others', 'agent', (text) => ({
    file: 'new.md',
    content: topic(`Something true.\n\n1. First.\n2. ${text}\n\n**Why:** Because.`),
  })),
  put('a description', 'agent', (text) => ({
    file: 'new.md',
    content: `---\nname: x\ndescription: ${JSON.stringify(text)}\ntype: user\n---\n\nbody\n`,
  })),
  put('a name', 'agent', (text) => ({
    file: 'new.md',
    content: `---\nname: ${JSON.stringify(text)}\ndescription: x\ntype: user\n---\n\nbody\n`,
  })),
  put('the hook of an index', 'person', (text) => ({ file: 'MEMORY.md', content: `- [x](x.md) — ${text}\n` })),
  put('the title of an index', 'person', (text) => ({ file: 'MEMORY.md', content: `- [${text}](x.md) — x\n` })),
  put('a memory of the team', 'person', (text) => ({ file: 'team/new.md', content: topic(text) })),
  {
    name: "a sub-agent's own memory of the project",
    route: 'putAgentMemory',
    open:
      async ({ agent, cwd }, text) =>
      () =>
        agent.putAgentMemory({ type: 'tester', scope: 'local', cwd, file: 'new.md', content: topic(text) }),
  },
  {
    name: 'a memory set that is imported',
    route: 'importMemories',
    open:
      async ({ person, cwd }, text) =>
      async () => {
        const file = sealed([header, { kind: 'file', file: 'new.md', content: topic(text) }])
        const { refused } = await person.importMemories({ cwd, lines: inPieces(Buffer.from(file)) })
        const [reason = ''] = refused[0]?.reason.split(':') ?? []
        if (refused.length > 0) throw Object.assign(new Error('refused'), { code: 'REFUSED', reason })
      },
  },
  {
    name: 'what a person asks to remember',
    route: 'remember',
    open:
      async ({ person, cwd }, text) =>
      () =>
        person.remember({ cwd, text }),
  },
  {
    name: 'what an agent asks to remember',
    route: 'remember',
    open:
      async ({ agent, cwd }, text) =>
      () =>
        agent.remember({ cwd, text }),
  },
  {
    name: 'the undo of a deletion',
    route: 'undoChange',
    open: async ({ person, cwd }, text) => {
      await person.putMemory({ cwd, file: 'gone.md', content: topic(text) })
      const { changeId: id = '' } = await person.forget({ cwd, file: 'gone.md' })
      return () => person.undoChange({ id })
    },
  },
  {
    name: 'the undo of an edit',
    route: 'undoChange',
    open: async ({ person, cwd }, text) => {
      await person.putMemory({ cwd, file: 'edited.md', content: topic(text) })
      const content = topic('Something else.')
      const { changeId: id = '' } = await person.putMemory({ cwd, file: 'edited.md', content })
      return () => person.undoChange({ id })
    },
  },
  {
    name: 'the undo of a run',
    route: 'undoRun',
    beforeStart: async (writer, { dir, run }, text) => {
      const by = { actor: 'agent:dream', reason: 'tidied' }
      await writer.write(dir, [{ file: 'tidied.md', content: topic(text) }], by)
      await writer.write(dir, [{ file: 'tidied.md', content: null }], { ...by, runId: run })
    },
    open:
      async ({ person, run }) =>
      () =>
        person.undoRun({ id: run }),
  },
  {
    name: 'a change that waited for review',
    route: 'decideReview',
    review: 'required',
    open: async ({ person, agent, cwd }, text) => {
      const { reviewId: id = '' } = await agent.putMemory({ cwd, file: 'waits.md', content: topic(text) })
      return () => person.decideReview({ id, decision: 'approve' })
    },
  },
  {
    name: 'a change that would wait for review',
    route: 'putMemory',
    review: 'required',
    open:
      async ({ agent, cwd }, text) =>
      () =>
        agent.putMemory({ cwd, file: 'would.md', content: topic(text) }),
  },
  {
    name: 'memoryd remember',
    route: 'remember',
    cost: 'high',
    open:
      async ({ home, cwd }, text) =>
      () =>
        command({ ...home, dir: cwd }, 'remember', text),
  },
  {
    name: 'memoryd edit',
    route: 'putMemory',
    cost: 'high',
    open: async ({ home, person, cwd }, text) => {
      await person.putMemory({ cwd, file: 'mine.md', content: topic('Mine.') })
      const env = { ...home.env, TMPDIR: home.dir, SAID: text, EDITOR: `printf '%s\\n' "$SAID" >>` }
      return () => command({ ...home, env, dir: cwd }, 'edit', 'mine.md')
    },
  },
]

/** A refusal on the command line, as the client would throw it. */
async function command(home: Home, ...args: string[]): Promise<void> {
  const { code, stderr } = await memoryd(home, ...args)
  if (code === 0) return
  throw Object.assign(new Error(stderr), {
    code: 'REFUSED',
    reason: stderr.includes('says again what was rejected') ? 'rejected-value' : 'something else',
  })
}
