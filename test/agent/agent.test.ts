import { hash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { topic } from '../support/memory.ts'
import { calls, overloaded, rateLimited, says } from '../support/messages-api/answers.ts'
import { agentRig, conversation, MODEL } from './agent-rig.ts'

const write = (id: string, file_path: string, body: string, more = {}) => ({
  id,
  name: 'Write',
  input: { file_path, content: topic(body), ...more },
})
const memories = (dir: string) =>
  readdirSync(dir)
    .filter((name) => name !== 'MEMORY.md')
    .sort()

describe('a run', () => {
  it('ends with what broke a check: a model is not told of it, and does not go on without what it wanted to keep', async () => {
    const rig = await agentRig()
    rig.api.next(
      calls(write('a', 'office.md', 'The office is in Kyoto.', { evidence: ['m1'] })),
      says('I could not save it.'),
    )
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    const run = rig.run({
      prefix: await rig.prefixOf(conversation(2)),
      check: async () => {
        throw full
      },
    })
    await expect(run).rejects.toBe(full)
    expect(rig.api.requests).toHaveLength(1)
    expect(memories(rig.memory)).toEqual([])
  })

  it('applies its changes together at its end, with its run and what each rests on', async () => {
    const rig = await agentRig()
    rig.put('known.md', 'The build takes an hour.')
    rig.api.next(
      calls({ id: 'a', name: 'Read', input: { file_path: 'known.md' } }, { id: 'b', name: 'Task', input: {} }),
      calls(
        {
          id: 'c',
          name: 'Edit',
          input: { file_path: 'known.md', old_string: 'an hour', new_string: 'a day', evidence: ['m1'] },
        },
        write('d', 'office.md', 'The office is in Kyoto.', { evidence: ['m2', 'm3'], reason: 'They said so.' }),
      ),
      says('Saved two.'),
    )
    const files: string[][] = []
    const report = await rig.run({
      prefix: await rig.prefixOf(conversation(6)),
      onTurn: (turn) => files.push(turn.files),
    })
    expect(report).toMatchObject({
      ended: 'done',
      why: undefined,
      text: 'Saved two.',
      files: ['known.md', 'office.md'],
      turns: 3,
      denials: 1,
    })
    expect(files).toEqual([[], [], ['known.md', 'office.md']])
    expect(readFileSync(join(rig.memory, 'known.md'), 'utf8')).toBe(topic('The build takes a day.'))
    expect(
      rig.journal
        .ofRun('run-1')
        .filter(({ partOf }) => partOf === undefined)
        .map(({ file, op, actor, reason, evidence }) => ({
          file,
          op,
          actor,
          reason,
          cites: evidence.flatMap((e) => e.messageIds),
        })),
    ).toEqual([
      { file: 'known.md', op: 'update', actor: 'agent:extraction', reason: 'extraction', cites: ['m1'] },
      { file: 'office.md', op: 'create', actor: 'agent:extraction', reason: 'They said so.', cites: ['m2', 'm3'] },
    ])
    expect(rig.denied()).toEqual([{ job: 'extraction', tool: 'unknown' }])
    expect(rig.api.requests.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined])
  })

  it('changes nothing when one of its changes cannot be applied', async () => {
    const rig = await agentRig()
    rig.put('known.md', 'The build takes an hour.')
    const theirs = topic('A person wrote this.')
    rig.api.script(({ body }) => {
      if (body.messages.length === 1) return calls({ id: 'a', name: 'Read', input: { file_path: 'known.md' } })
      if (body.messages.length === 3) return calls(write('b', 'aaa.md', 'New.'), write('c', 'known.md', 'Other.'))
      writeFileSync(join(rig.memory, 'known.md'), theirs)
      return says('done')
    })
    const report = await rig.run({ prefix: await rig.prefixOf(conversation(2)) })
    expect(report).toMatchObject({ ended: 'failed', why: expect.stringContaining('known.md'), files: [] })
    expect(memories(rig.memory)).toEqual(['known.md'])
    expect(readFileSync(join(rig.memory, 'known.md'), 'utf8')).toBe(theirs)
  })

  it('keeps what was accepted at the turn limit of an extraction, and nothing at any other limit', async () => {
    const rig = await agentRig()
    let n = 0
    rig.api.script(() => calls(write(`t${++n}`, `file_${n}.md`, `Fact ${n}.`)))
    const prefix = await rig.prefixOf(conversation(2))
    const limits = { turns: 2, outputTokens: 100_000, wallMs: 60_000 }
    expect(await rig.run({ prefix, limits, atTurnLimit: 'fail' })).toMatchObject({
      ended: 'failed',
      why: 'the limit of 2 turns was reached',
      files: [],
    })
    expect(await rig.run({ prefix, limits: { ...limits, outputTokens: 1 } })).toMatchObject({
      ended: 'failed',
      files: [],
    })
    expect(await rig.run({ prefix, limits: { ...limits, usd: 1e-9 } })).toMatchObject({ ended: 'failed', files: [] })
    expect(memories(rig.memory)).toEqual([])
    expect(await rig.run({ prefix, limits })).toMatchObject({
      ended: 'truncated',
      why: 'the limit of 2 turns was reached',
      files: ['file_5.md', 'file_6.md'],
    })
    expect(memories(rig.memory)).toEqual(['file_5.md', 'file_6.md'])
  })

  it('changes nothing when a call fails, when it is killed, or when another process has taken it over', async () => {
    const rig = await agentRig()
    const prefix = await rig.prefixOf(conversation(2))
    rig.api.next(calls(write('a', 'x.md', 'X.')), rateLimited(7))
    expect(await rig.run({ prefix })).toMatchObject({
      ended: 'failed',
      failure: { failed: 'rate-limit', retryAfterMs: 7_000, permanent: false },
    })
    rig.api.next(calls(write('a', 'x.md', 'X.')), overloaded)
    expect(await rig.run({ prefix })).toMatchObject({ ended: 'failed', failure: { failed: 'overloaded' } })
    rig.api.next(calls(write('a', 'x.md', 'X.')), says('done'))
    expect(await rig.run({ prefix, ownsLease: () => false })).toMatchObject({ ended: 'aborted', files: [] })
    rig.api.next(calls(write('a', 'x.md', 'X.')), { fault: 'silent' })
    const running = rig.run({ prefix })
    const silent = await rig.api.request(8)
    rig.abort.abort()
    expect(await running).toMatchObject({ ended: 'aborted', files: [] })
    expect(await silent.closed).toMatchObject({ complete: false })
    expect(memories(rig.memory)).toEqual([])
  })

  it('edits one notes file that its task has shown, and nothing else', async () => {
    const rig = await agentRig()
    const notes = join(rig.transcripts, 'notes.md')
    const before = '# Current State\nnothing\n'
    writeFileSync(notes, before)
    rig.api.next(
      calls(
        { id: 'a', name: 'Edit', input: { file_path: notes, old_string: 'nothing', new_string: 'building' } },
        { id: 'b', name: 'Read', input: { file_path: notes } },
        write('c', 'x.md', 'X.'),
      ),
      says('ok'),
    )
    const applied: unknown[] = []
    const report = await rig.run({
      job: 'notes',
      prefix: await rig.prefixOf(conversation(2)),
      policy: { may: 'notes', file: 'notes.md' },
      reach: { memoryDir: rig.transcripts, readable: [], closed: [] },
      shown: [{ file: 'notes.md', hash: hash('sha256', before) }],
      atTurnLimit: 'fail',
      check: async () => undefined,
      apply: async (drafts) => applied.push(...drafts),
    })
    expect(report).toMatchObject({ ended: 'done', files: ['notes.md'], denials: 2 })
    expect(applied).toMatchObject([{ file: 'notes.md', content: '# Current State\nbuilding\n' }])
  })

  it('has no tool where the answer is text, and needs no session', async () => {
    const rig = await agentRig()
    rig.api.next(calls({ id: 'a', name: 'Read', input: { file_path: 'x' } }), says('<summary>all</summary>'))
    const prefix = rig.agent.barePrefix('all', MODEL)
    expect(await rig.run({ job: 'compaction', project: '/p', prefix, policy: { may: 'nothing' } })).toMatchObject({
      ended: 'done',
      text: '<summary>all</summary>',
      denials: 1,
    })
    expect(rig.api.requests.every(({ refused }) => refused === undefined)).toBe(true)
    const counted = (by: 'job' | 'project') => rig.models.cost(by, 1).items.map(({ key, calls }) => [key, calls])
    expect([counted('job'), counted('project')]).toEqual([[['compaction', 2]], [['/p', 2]]])
  })

  it('sends no credential: not from the transcript, the task, the notes or a file', async () => {
    const rig = await agentRig()
    const key = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
    writeFileSync(join(rig.project, 'env'), `TOKEN=${key}\n`)
    const messages = [{ ...(conversation(1)[0] as never as object), text: `my key is ${key}` }] as never
    rig.api.next(calls({ id: 'a', name: 'Read', input: { file_path: join(rig.project, 'env') } }), says('ok'))
    await rig.run({ prefix: await rig.prefixOf(messages), directive: `Do it with ${key}` })
    expect(rig.api.requests.map(({ bytes }) => bytes.includes(key))).toEqual([false, false])
  })
})
