/** Every way by which a credential may reach the daemon: over the socket, or by another program in the directory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StrictClient } from '../../client/index.ts'
import { MemoryError } from '../../schema/errors.ts'
import type { Home } from './home.ts'
import { topic } from './memory.ts'
import { rawRequest } from './raw.ts'
import type { SecretSample } from './secret-samples.ts'
import { freeStanding } from './secret-values.ts'

export type Ground = {
  home: Home
  person: StrictClient
  agent: StrictClient
  cwd: string
  dir: string
  /** Writes a file as an editor would, around the daemon. */
  outsider(file: string, content: string): void
}

export type Way = {
  name: string
  send(ground: Ground, samples: readonly SecretSample[]): Promise<void>
  /** What is done once a restart has made the daemon notice other people's files. */
  afterNoticing?(ground: Ground, samples: readonly SecretSample[]): Promise<void>
}

const EIGHT = 8

export const waysIn: Way[] = [
  {
    name: 'a memory each',
    send: ({ person, cwd }, samples) =>
      each(samples, ({ text }, n) => person.putMemory({ cwd, file: `alone-${n}.md`, content: topic(text) })),
  },
  {
    name: 'eight in a memory, the first in its description too',
    send: ({ person, cwd }, samples) =>
      each(inGroups(samples, EIGHT), (group, n) => {
        const head = JSON.stringify(group[0]?.text)
        const body = group.map(({ text }) => text).join('\n\n')
        const content = `---\nname: Eight\ndescription: ${head}\ntype: project\n---\n\n${body}\n`
        return person.putMemory({ cwd, file: `eight-${n}.md`, content })
      }),
  },
  {
    name: 'a memory of the team',
    send: ({ person, cwd }, samples) =>
      each(samples, ({ text }, n) =>
        refused('secret', person.putMemory({ cwd, file: `team/shared-${n}.md`, content: topic(text) })),
      ),
  },
  { name: 'remember', send: ({ person, cwd }, samples) => each(samples, ({ text }) => person.remember({ cwd, text })) },
  {
    name: 'a write that waits for review',
    send: (ground, samples) =>
      decideAll(ground, samples, (text, n) =>
        ground.agent.putMemory({ cwd: ground.cwd, file: `waits-${n}.md`, content: topic(text) }),
      ),
  },
  {
    name: 'remember that waits for review',
    send: (ground, samples) => decideAll(ground, samples, (text) => ground.agent.remember({ cwd: ground.cwd, text })),
  },
  {
    name: 'mail between agents',
    send: async ({ agent, cwd }, samples) => {
      await agent.registerAgent({ name: 'reader', sessionId: 'reads', cwd, pid: process.pid })
      await each(samples, ({ text }) =>
        agent.sendMail({ from: 'writer', to: 'reader', body: text, ...(text.length <= 200 && { summary: text }) }),
      )
    },
  },
  {
    name: 'a reason',
    send: ({ person, cwd }, samples) =>
      each(samples, ({ text }, n) =>
        // What is too long for a reason is turned away before it is read.
        allow('BAD_REQUEST', person.putMemory({ cwd, file: 'r.md', content: topic(`Said ${n}.`), reason: text })),
      ),
  },
  {
    name: 'a file name',
    send: async ({ home, person, cwd }, samples) =>
      each(samples, async ({ kind, secret, text }) => {
        // A password is one only where something says so; a token speaks for itself, even behind a name that is cut.
        const long = `${'a long name '.repeat(5)}${secret}.md`
        const bare = kind in freeStanding ? [`key ${secret}.md`, `team/${secret}.md`, long] : []
        for (const file of [...bare, `${text}.md`])
          await allow('anything', person.putMemory({ cwd, file, content: topic('A name.') }))
        await allow('anything', person.forget({ cwd, file: `${text}.md` }))
        await allow('anything', person.memory({ cwd, file: `${text}.md` }))
        await rawRequest(home.places.socketPath, { path: `/v1/memories/${encodeURIComponent(text)}` })
      }),
  },
  {
    name: 'a long result of a tool, and one that is cleared',
    send: ({ agent }, samples) =>
      each(samples, async ({ kind, secret, text }, n) => {
        const name = kind in freeStanding && secret.length <= 512 ? secret : 's'
        const content = `${text}\n${'What a tool has printed, line by line.\n'.repeat(1_500)}${text}`
        const long = { toolUseId: `long-${n}`, tool: 'Bash', content }
        await agent.keepToolResults({ sessionId: name, messageId: name, results: [long] })
        const use = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: {} })
        const messages = Array.from({ length: 4 }, (_, k) => [
          { role: 'assistant', content: [use(`c${n}-${k}`)] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `c${n}-${k}`, content: k === 0 ? text : 'x' }],
          },
        ]).flat()
        const asked = { sessionId: 's', model: 'm', messages: [...messages, ...messages.map(again)] }
        await agent.microcompact({ ...asked, form: 'time', lastAssistantAt: '2026-01-01T00:00:00Z' })
      }),
  },
  {
    name: "another program's file that is overwritten",
    send: async (ground, samples) => {
      write(ground, samples)
      await each(every(samples, 0), (_sample, n) => overwrite(ground, `theirs-${2 * n}.md`))
    },
    afterNoticing: (ground, samples) =>
      each(every(samples, 1), (_sample, n) => overwrite(ground, `theirs-${2 * n + 1}.md`)),
  },
  {
    name: "another program's file that is forgotten and rejected",
    send: async (ground, samples) => {
      write(ground, samples)
      await each(every(samples, 0), (_sample, n) => forget(ground, `theirs-${2 * n}.md`))
    },
    afterNoticing: (ground, samples) =>
      each(every(samples, 1), (_sample, n) => forget(ground, `theirs-${2 * n + 1}.md`)),
  },
  {
    name: "another program's edit of our file that is undone",
    send: async ({ person, cwd, outsider }, samples) => {
      await each(inGroups(samples, EIGHT), (_group, n) =>
        person.putMemory({ cwd, file: `ours-${n}.md`, content: topic(`Ours ${n}.`) }),
      )
      for (const [n, group] of inGroups(samples, EIGHT).entries())
        outsider(`ours-${n}.md`, topic(group.map(({ text }) => text).join('\n\n')))
    },
    afterNoticing: ({ person, cwd }, samples) =>
      each(inGroups(samples, EIGHT), async (_group, n) => {
        const { items } = await person.changes({ cwd, file: `ours-${n}.md`, limit: '1' })
        await person.undoChange({ id: items[0]?.id ?? '' })
      }),
  },
  {
    name: "another program's file and index that stay",
    send: async ({ person, cwd, outsider }, samples) => {
      const lines = samples.map(({ text }, n) => `- [${n}](theirs-${n}.md) — ${text.replaceAll('\n', ' ')}`)
      for (const [n, { text }] of samples.entries())
        outsider(n % 2 ? `theirs-${n}.md` : `team/theirs-${n}.md`, topic(text))
      outsider('MEMORY.md', `${lines.join('\n')}\n`)
      await person.putMemory({ cwd, file: 'ours.md', content: topic('A line more in that index.') })
    },
    afterNoticing: async ({ person, cwd }) => {
      await person.putMemory({ cwd, file: 'ours.md', content: topic('And another change.', 'Another name') })
    },
  },
  {
    name: "another program's file with a telling name",
    send: async (ground, samples) => {
      for (const file of tellingNames(samples)) ground.outsider(file, topic('A name.'))
      await each(tellingNames(samples), (file, n) =>
        allow('REFUSED', n % 2 ? forget(ground, file) : overwrite(ground, file)),
      )
    },
    afterNoticing: (ground, samples) =>
      each(tellingNames(samples), (file, n) =>
        allow('REFUSED', n % 2 ? overwrite(ground, file) : forget(ground, file)),
      ),
  },
  {
    name: 'query strings and headers',
    send: ({ home, cwd }, samples) =>
      each(samples, async ({ kind, text, secret }) => {
        const here = encodeURIComponent(cwd)
        const said = encodeURIComponent(text)
        const ask = (path: string, headers: Record<string, string> = {}) =>
          rawRequest(home.places.socketPath, { path, headers })
        for (const path of [`?cwd=${said}`, `?cwd=%2Fnowhere%2F${said}`, `?cwd=${here}&type=${said}`, `?${said}=1`])
          await ask(`/v1/memories${path}`)
        await ask(`/v1/changes?cwd=${here}&file=${said}`)
        await ask(`/v1/${said}`)
        for (const [name, value] of [
          ['CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES', text],
          ['CLAUDE_COWORK_MEMORY_PATH_OVERRIDE', text],
          ['CLAUDE_CODE_SIMPLE', text],
          [secret, text],
        ] as const)
          await ask(`/v1/memories?cwd=${here}`, { 'x-memoryd-env': ascii(JSON.stringify({ [name]: value })) })
        await ask(`/v1/memories?cwd=${here}`, { 'x-memoryd-env': ascii(JSON.stringify(text)) })
        if (kind in freeStanding) await actAs(home, cwd, `agent:${secret}`)
      }),
  },
]

/** An agent may call itself anything that fits the label. */
async function actAs(home: Home, cwd: string, actor: string): Promise<void> {
  const body = JSON.stringify({ content: topic(`By ${actor.length}.`) })
  const headers = { 'content-type': 'application/json', 'x-memoryd-actor': actor }
  await rawRequest(home.places.socketPath, {
    method: 'PUT',
    path: `/v1/memories/labelled.md?cwd=${encodeURIComponent(cwd)}`,
    headers,
    body,
  })
}

async function each<T>(items: readonly T[], act: (item: T, at: number) => Promise<unknown>): Promise<void> {
  for (const [at, item] of items.entries()) await act(item, at)
}

function inGroups<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size))
}

function every<T>(items: readonly T[], remainder: 0 | 1): T[] {
  return items.filter((_item, at) => at % 2 === remainder)
}

/** Names that a file can have, with a token that speaks for itself. */
function tellingNames(samples: readonly SecretSample[]): string[] {
  const fitting = samples.filter(({ kind, secret }) => kind in freeStanding && /^[\w.-]{1,180}$/.test(secret))
  return fitting.map(({ secret }) => `key ${secret}.md`)
}

/** A third is approved, then a third rejected, and a third still waits in the end. */
async function decideAll(
  { person }: Ground,
  samples: readonly SecretSample[],
  send: (text: string, n: number) => Promise<{ reviewId?: string | undefined }>,
): Promise<void> {
  const waiting: string[] = []
  await each(samples, async ({ text }, n) => waiting.push((await send(text, n)).reviewId ?? ''))
  for (const [turn, decision] of [
    [0, 'approve'],
    [1, 'reject'],
  ] as const)
    await each(
      waiting.filter((_id, n) => n % 3 === turn),
      (id) => person.decideReview({ id, decision }),
    )
}

function write({ outsider }: Ground, samples: readonly SecretSample[]): void {
  for (const [n, { text }] of samples.entries()) outsider(`theirs-${n}.md`, topic(text, `Theirs ${n}`))
}

async function overwrite({ person, cwd }: Ground, file: string): Promise<void> {
  await person.putMemory({ cwd, file, content: topic('Without it.', 'Cleaned') })
}

async function forget({ person, cwd }: Ground, file: string): Promise<void> {
  await person.forget({ cwd, file, reject: 'true' })
}

async function refused(reason: string, call: Promise<unknown>): Promise<void> {
  const outcome = await call.then(
    () => 'accepted',
    (error: unknown) => (error instanceof MemoryError ? error.reason : String(error)),
  )
  if (outcome !== reason) throw new Error(`expected a refusal (${reason}), got: ${outcome}`)
}

async function allow(code: MemoryError['code'] | 'anything', call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof MemoryError) || (code !== 'anything' && error.code !== code)) throw error
  })
}

function ascii(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

export function makeGround(
  home: Home,
  clients: Pick<Ground, 'person' | 'agent'>,
  { cwd, dir, wrote }: { cwd: string; dir: string; wrote: (path: string) => void },
): Ground {
  return {
    ...clients,
    home,
    cwd,
    dir,
    outsider: (file, content) => {
      const path = join(dir, file)
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, content)
      wrote(path)
    },
  }
}

/** The same calls under other names: all but the newest few are cleared. */
function again<T>(message: T): T {
  return JSON.parse(JSON.stringify(message).replaceAll('"c', '"d').replaceAll('"dontent"', '"content"'))
}
