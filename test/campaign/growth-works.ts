/** What there may be much of, and the work that is done with it. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { header, inPieces, sealed } from '../support/carry.ts'
import { jobEnds } from '../support/job-ends.ts'
import { topic } from '../support/memory.ts'
import type { GrowthGround } from './growth.ts'

export type Work = {
  name: string
  /** In the campaign; half and a quarter as well. */
  most: number
  /** Transcripts are read by it: then callers may be held up less. */
  reads?: true
  /** What is there before; gives the work. */
  prepare(ground: GrowthGround, size: number): Promise<() => Promise<unknown>>
  /** Of memories: what each leaves in history.db is limited. */
  writes?(size: number): number
  warmUp?(ground: GrowthGround): Promise<void>
}

const FIRST_LOOK_MS = 20
const LAST_LOOK_MS = 1_000
const WRITES = 40

/** Puts transcripts into the root at once, and waits until they are read and looked through. */
async function read(ground: GrowthGround, files: Readonly<Record<string, readonly object[]>>): Promise<void> {
  const { root, client, home } = ground
  const ends = await jobEnds(client, 'extract')
  for (const [name, records] of Object.entries(files)) {
    const made = join(home.dir, 'made.jsonl')
    writeFileSync(made, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    mkdirSync(dirname(join(root, name)), { recursive: true })
    renameSync(made, join(root, name))
  }
  await ends.next()
  // Rarely: jobs give way to callers.
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_LOOK_MS)) {
    const { ingest, jobs } = await client.status()
    if (ingest.lagBytes + jobs.queued + jobs.running === 0) return
    await delay(pauseMs)
  }
}

const at = () => new Date().toISOString()
const session = ({ cwd }: GrowthGround, id = 's') => ({ type: 'session', id, cwd, at: at() })
const asked = (n: number) => ({ type: 'user', id: `q${n}`, text: `What about part ${n} of the work?`, at: at() })
const answered = (n: number) => ({ type: 'assistant', id: `a${n}`, text: `Part ${n} is done.`, end: 'final', at: at() })
const times = <T>(count: number, make: (n: number) => T[]) => Array.from({ length: count }, (_, n) => make(n)).flat()

const turns = (ground: GrowthGround, count: number) => [
  session(ground),
  ...times(count, (n) => [asked(n), answered(n)]),
]

async function warm(ground: GrowthGround): Promise<void> {
  const id = 'warm'
  await read(ground, { 'warm/s.jsonl': [session(ground, id), asked(-1), answered(-1)] })
  await ground.client.health()
}

const reading = (name: string, most: number, lines: (ground: GrowthGround, size: number) => object[]): Work => ({
  name,
  most,
  reads: true,
  prepare: async (ground, size) => () => read(ground, { 's.jsonl': lines(ground, size) }),
  warmUp: warm,
})

const oneTurn = (ground: GrowthGround, size: number) => [
  session(ground),
  asked(0),
  ...times(size / 2, (n) => [
    {
      type: 'assistant',
      id: `c${n}`,
      text: `Step ${n}.`,
      toolCalls: [{ id: `t${n}`, name: 'Bash', input: `ls ${n}` }],
      at: at(),
    },
    { type: 'tool', id: `r${n}`, callId: `t${n}`, text: `file-${n}`, at: at() },
  ]),
  answered(0),
]

export const works: readonly Work[] = [
  reading('turns of one session, read', 100_000, turns),
  reading('equal lines without an id, read', 100_000, (ground, size) => [
    session(ground),
    ...times(size / 2, () => [
      { type: 'user', text: 'go on' },
      { type: 'assistant', text: 'Done.', end: 'final' },
    ]),
  ]),
  reading('messages of one turn, read', 100_000, oneTurn),
  {
    name: 'turns of one session, listed and searched',
    most: 100_000,
    prepare: async (ground, size) => {
      await read(ground, { 's.jsonl': turns(ground, size) })
      const { client, cwd } = ground
      return async () => {
        await client.sessions({ cwd })
        await client.session({ id: 's' })
        await client.sessionNotes({ id: 's' })
        await client.search({ cwd, q: 'part work' })
      }
    },
  },
  {
    name: 'sessions, listed',
    most: 4_000,
    prepare: async (ground, size) => {
      const files = times(size, (n) => [
        [`f${n % 50}/s${n}.jsonl`, [session(ground, `s${n}`), asked(n), answered(n)]] as const,
      ])
      await read(ground, Object.fromEntries(files))
      const { client, cwd } = ground
      return () => client.sessions({ cwd, limit: '999' })
    },
  },
  {
    name: 'pushed turns of one session',
    most: 2_000,
    prepare:
      async ({ client, cwd }, size) =>
      async () => {
        for (let n = 0; n < size; n++) {
          const { id: _, ...question } = asked(n)
          const { id: __, ...answer } = answered(n)
          await client.pushTurn({ cwd, sessionId: 's', turnId: `t${n}`, messages: [question, answer] })
        }
      },
  },
  {
    name: 'messages of one pushed turn',
    most: 8_000,
    prepare: async (ground, size) => async () => {
      const [, ...messages] = oneTurn(ground, size)
      const ends = await jobEnds(ground.client, 'extract')
      await ground.client.pushTurn({ cwd: ground.cwd, sessionId: 's', turnId: 't', messages })
      await ends.next()
    },
  },
  {
    name: 'memories, listed, searched and recalled',
    most: 8_000,
    prepare: async (ground, size) => {
      await makeMemories(ground, size)
      const { client, cwd } = ground
      return async () => {
        for (let n = 0; n < 10; n++) {
          await client.memories({ cwd })
          await client.memories({ cwd, q: `thing ${n}` })
          await client.recall({ cwd, query: `What is known of thing ${n * 7}?`, sessionId: 's' })
        }
      }
    },
  },
  { name: 'memories, imported', most: 8_000, prepare: async (ground, size) => () => makeMemories(ground, size) },
  {
    name: 'memories, beside which others are written',
    most: 8_000,
    prepare: async (ground, size) => {
      await makeMemories(ground, size)
      await ground.client.putMemory({ cwd: ground.cwd, file: 'first.md', content: topic('First.', 'First') })
      return () => writeSome(ground)
    },
    writes: () => WRITES,
  },
  {
    name: 'index lines, beside which memories are written',
    most: 8_000,
    prepare: async (ground, size) => {
      const lines = Array.from({ length: size }, (_, n) => `- [Line ${n}](line_${n}.md) — What is known of ${n}\n`)
      const { dir } = await ground.client.memories({ cwd: ground.cwd })
      mkdirSync(dir, { recursive: true })
      writeFileSync(join(dir, 'MEMORY.md'), lines.join(''))
      await ground.client.putMemory({ cwd: ground.cwd, file: 'first.md', content: topic('First.', 'First') })
      return () => writeSome(ground)
    },
    writes: () => WRITES,
  },
  {
    name: 'writes of one memory',
    most: 2_000,
    prepare:
      async ({ client, cwd }, size) =>
      async () => {
        for (let n = 0; n < size; n++) await client.putMemory({ cwd, file: 'same.md', content: topic(`Version ${n}.`) })
        await client.changes({ cwd, limit: '999' })
      },
    writes: (size) => size,
  },
  {
    name: 'messages, measured and compacted as they are sent',
    most: 100_000,
    prepare: async ({ client, cwd }, size) => {
      const messages = times(size / 2, (n) => [
        { role: 'user', content: `What about part ${n} of the work?` },
        { role: 'assistant', content: [{ type: 'text', text: `Part ${n} is done.` }] },
      ])
      const conversation = { sessionId: 's', model: 'claude-sonnet-4-5', messages }
      return async () => {
        await client.measureContext({ model: conversation.model, messages })
        await client.microcompact({ ...conversation, form: 'size' })
        await client.compact({ ...conversation, cwd, trigger: 'manual' })
      }
    },
  },
  {
    name: 'messages, compacted from the transcript',
    most: 100_000,
    prepare: async (ground, size) => {
      await read(ground, { 's.jsonl': oneTurn(ground, size) })
      const { client, cwd } = ground
      return async () =>
        void (await client.compact({
          cwd,
          sessionId: 's',
          harness: 'generic',
          model: 'claude-sonnet-4-5',
          trigger: 'manual',
        }))
    },
  },
  {
    name: 'letters to one agent',
    most: 4_000,
    prepare:
      async ({ client, cwd }, size) =>
      async () => {
        await client.registerAgent({ name: 'reader', sessionId: 'reads', cwd, pid: process.pid })
        for (let n = 0; n < size; n++) await client.sendMail({ from: 'user', to: 'reader', body: `Letter ${n}.` })
        await client.mail({ agent: 'reader' })
      },
  },
]

/** As one run: what stands on the disk by the hand of another program is journaled while it is measured. */
async function makeMemories({ client, cwd }: GrowthGround, size: number): Promise<void> {
  const files = Array.from({ length: size }, (_, n) => ({
    kind: 'file',
    file: `thing_${n}.md`,
    content: topic(`Thing ${n} is made of ${n % 97}.`, `Thing ${n}`),
  }))
  await client.importMemories({ cwd, lines: inPieces(Buffer.from(sealed([header, ...files]))) })
}

async function writeSome({ client, cwd }: GrowthGround) {
  for (let n = 0; n < WRITES; n++)
    await client.putMemory({ cwd, file: `new_${n}.md`, content: topic(`New ${n}.`, `New ${n}`) })
}
