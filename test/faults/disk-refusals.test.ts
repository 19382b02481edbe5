import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { StrictClient } from '../../client/index.ts'
import { connectAs } from '../support/connect-as.ts'
import { CALLS, type ErrorName, type FaultRule, type FileCall, startWithFaults } from '../support/faults.ts'
import { makeHome } from '../support/home.ts'
import { topic } from '../support/memory.ts'

type Asked = { client: StrictClient; cwd: string; n: number }
type Route = {
  name: string
  calls: readonly FileCall[]
  at: Pick<FaultRule, 'within' | 'ends'>
  errors: readonly ErrorName[]
  prepare?: (asked: Asked) => Promise<unknown>
  ask: (asked: Asked) => Promise<unknown>
}

/** What a disk that is full, read-only or closed refuses. */
const WRITES = CALLS.filter((call) => !['open-read', 'read', 'close', 'stat', 'list'].includes(call))
const OPENS: readonly FileCall[] = ['open-read', 'open-write']
const DISK: readonly ErrorName[] = ['EDQUOT', 'ENOSPC', 'EROFS', 'EIO', 'EACCES']
const FILES: readonly ErrorName[] = ['EMFILE', 'ENFILE']

const put = ({ client, cwd, n }: Asked) => client.putMemory({ cwd, file: `new_${n}.md`, content: topic('New.') })
const push = ({ client, cwd, n }: Asked, turnId = 'second') =>
  client.pushTurn({
    ...{ cwd, harness: 'mine', sessionId: `s${n}`, turnId },
    messages: [
      { type: 'user', text: 'How?' },
      { type: 'assistant', text: 'So.', end: 'final' },
    ],
  })
const memory = { within: '/memory/' }
const pushed = { within: '/sessions' }
const history = { within: '/history.db' }

const routes: readonly Route[] = [
  { name: 'a memory that is written', calls: WRITES, at: memory, errors: DISK, ask: put },
  { name: 'a memory that is written', calls: OPENS, at: memory, errors: FILES, ask: put },
  {
    name: 'a memory that is remembered',
    ...{ calls: OPENS, at: { within: '/memory' }, errors: [...FILES, 'EACCES', 'EIO'] },
    ask: ({ client, cwd, n }) => client.remember({ cwd, text: `Always run check number ${n} before a push.` }),
  },
  {
    name: 'a memory that is forgotten',
    ...{ calls: WRITES, at: memory, errors: DISK },
    prepare: put,
    ask: ({ client, cwd, n }) => client.forget({ cwd, file: `new_${n}.md` }),
  },
  {
    name: 'a memory that is read',
    ...{ calls: ['open-read', 'read'], at: { ends: '/one.md' }, errors: ['EIO', 'EACCES', 'EMFILE', 'ENFILE'] },
    ask: ({ client, cwd }) => client.memory({ cwd, file: 'one.md' }),
  },
  {
    name: 'the index that is read',
    ...{ calls: ['open-read', 'read'], at: { ends: '/MEMORY.md' }, errors: ['EIO', 'EACCES', 'EMFILE', 'ENFILE'] },
    ask: ({ client, cwd }) => client.memoryIndex({ cwd }),
  },
  { name: 'the first turn that is pushed', calls: WRITES, at: pushed, errors: DISK, ask: (asked) => push(asked) },
  {
    name: 'another turn that is pushed',
    ...{ calls: WRITES, at: pushed, errors: DISK },
    prepare: (asked) => push(asked, 'first'),
    ask: (asked) => push(asked),
  },
  { name: 'a turn that is pushed', calls: OPENS, at: pushed, errors: FILES, ask: (asked) => push(asked) },
  {
    name: 'a project that is moved',
    ...{ calls: WRITES, at: { within: '/.claude/projects' }, errors: DISK },
    prepare: async ({ client, cwd, n }) => {
      const old = `${cwd}-${n}`
      mkdirSync(old)
      await client.putMemory({ cwd: old, file: 'one.md', content: topic('One.') })
      renameSync(old, `${old}-moved`)
    },
    ask: ({ client, cwd, n }) => client.moveProject({ from: `${cwd}-${n}`, to: `${cwd}-${n}-moved` }),
  },
  {
    name: 'a project that is paused',
    ...{ calls: WRITES, at: history, errors: DISK },
    ask: ({ client, n }) => client.pause({ cwd: `/paused/${n}` }),
  },
  {
    name: 'a result of a tool that is kept',
    ...{ calls: [...WRITES, 'open-read'], at: { within: '/tool-results' }, errors: [...DISK, ...FILES] },
    ask: ({ client, n }) =>
      client.keepToolResults({
        sessionId: `s${n}`,
        harness: 'mine',
        results: [{ toolUseId: `r${n}`, tool: 'Bash', content: 'word '.repeat(40_000) }],
      }),
  },
]

it('a request that the disk refuses, or the number of open files, is answered with 503 and a remedy', async (context) => {
  const home = makeHome()
  const cwd = join(home.dir, 'project')
  mkdirSync(cwd)
  const { fail, failed } = await startWithFaults(context, home)
  const client = connectAs(home, 'user')
  await client.putMemory({ cwd, file: 'one.md', content: topic('One.') })
  const answers: Record<string, unknown> = {}
  let n = 0
  for (const { name, calls, at, errors, prepare, ask } of routes)
    for (const error of errors) {
      const asked = { client, cwd, n: n++ }
      await prepare?.(asked)
      const fault = fail({ calls, ...at, error, times: 'lasting' })
      const answer = await ask(asked).then(
        () => 'done',
        ({ code, hint, message }) => (code === 'DEGRADED' && hint ? 'a remedy' : `${code}: ${message}`),
      )
      fault.heal()
      answers[`${name}, ${error}`] = fault.hits() > 0 ? answer : `no call failed: ${failed()}`
      await ask(asked)
    }
  expect(answers).toEqual(Object.fromEntries(Object.keys(answers).map((each) => [each, 'a remedy'])))
})
