import { describe, expect, it } from 'vitest'
import { mailRig } from './rig.ts'

const code = (name: string, words: string) =>
  expect.objectContaining({ code: name, message: expect.stringContaining(words) })

describe('an address', () => {
  it('is a name, a session, or everybody who is there but the sender', async () => {
    const { join, send, bodies, dead, news } = await mailRig()
    join('a')
    join('b')
    const { pid } = join('gone')
    join('twin', { sessionId: 's-b' })
    dead.add(pid)
    await send({ from: 'a', to: 'b', body: 'to b' })
    await send({ from: 'a', to: 'session:s-b', body: 'to the session of b' })
    await send({ from: 'a', to: 'session:known-by-its-transcript', body: 'to a session' })
    expect((await send({ from: 'a', to: '*', body: 'to all' })).ids).toHaveLength(2)
    await send({ from: 'session:s-b', to: '*', body: 'to all others' })
    expect(await bodies('a')).toEqual(['to all others'])
    expect(await bodies('b')).toEqual(['to b', 'to the session of b', 'to all'])
    expect(await bodies('gone')).toEqual([])
    expect(await bodies('session:s-b')).toEqual(['to b', 'to the session of b', 'to all', 'to all'])
    expect(await bodies('session:known-by-its-transcript')).toEqual(['to a session'])
    expect(news[0]).toEqual({ id: '1', from: 'a', to: 'b', sessionId: 's-b', kind: 'text' })
    expect(news).toHaveLength(6)
  })

  it('that no session has is refused to sender and reader', async () => {
    const { join, send, read, mailbox } = await mailRig()
    join('a')
    await expect(send({ from: 'a', to: 'missing' })).rejects.toEqual(code('NOT_FOUND', 'missing'))
    await expect(send({ from: 'a', to: 'session:none' })).rejects.toEqual(code('NOT_FOUND', 'session:none'))
    await expect(read('missing')).rejects.toEqual(code('NOT_FOUND', 'missing'))
    expect(() => mailbox.acknowledge('missing', [1])).toThrow(code('NOT_FOUND', 'missing'))
    expect((await send({ from: 'a', to: '*' })).ids).toEqual([])
  })

  it('may be one whose agent is gone: its mail waits', async () => {
    const { join, send, bodies, dead } = await mailRig()
    dead.add(join('a').pid)
    await send({ from: 'x', to: 'a', body: 'later' })
    join('a')
    expect(await bodies('a')).toEqual(['later'])
  })
})

describe('a name', () => {
  it('is not given away while its agent lives, and may be taken up after', async () => {
    const { join, dead, registry } = await mailRig()
    const { pid } = join('a')
    expect(() => join('a')).toThrow(code('CONFLICT', `process ${pid}`))
    expect(join('a', { pid, cwd: '/elsewhere' })).toMatchObject({ pid, cwd: '/elsewhere' })
    expect(registry.alive()).toHaveLength(1)
    dead.add(pid)
    expect(registry.list()).toMatchObject([{ name: 'a' }])
    expect(registry.alive()).toEqual([])
    expect(join('a').pid).not.toBe(pid)
  })

  it('is forgotten a week after its agent registered and went, unless mail waits for it', async () => {
    const { join, send, dead, registry, mailbox, pass } = await mailRig()
    const [gone, waited] = [join('gone').pid, join('waited').pid]
    join('alive')
    for (const pid of [gone, waited]) dead.add(pid)
    pass(8 * 86_400_000)
    await send({ from: 'alive', to: 'waited' })
    const forget = () => registry.forget(1_767_225_600_000 + 86_400_000, mailbox.hasMail)
    expect(forget()).toBe(1)
    expect(
      registry
        .list()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['alive', 'waited'])
  })
})

describe('mail', () => {
  it('comes in order and again until it is acknowledged, and then never', async () => {
    const { join, send, read, mailbox, db } = await mailRig()
    join('a')
    for (const body of ['1', '2', '3']) await send({ from: 'x', to: 'a', body, summary: `about ${body}` })
    const all = await read('a')
    expect(all.items.map(({ body }) => body)).toEqual(['1', '2', '3'])
    expect(all.items[0]).toEqual({
      id: '1',
      at: '2026-01-01T00:00:00.000Z',
      from: 'x',
      to: 'a',
      kind: 'text',
      body: '1',
      summary: 'about 1',
    })
    expect(await read('a')).toEqual(all)
    expect(mailbox.acknowledge('a', [2, 99])).toEqual({ ids: ['2'] })
    expect(mailbox.acknowledge('a', [2, 1])).toEqual({ ids: ['1'] })
    expect((await read('a')).items.map(({ body }) => body)).toEqual(['3'])
    // What was read is not kept.
    expect(db.history.prepare('SELECT body, summary FROM mail WHERE acknowledged = 1').all()).toEqual([
      { body: '', summary: null },
      { body: '', summary: null },
    ])
  })

  it('of others cannot be acknowledged', async () => {
    const { join, send, bodies, mailbox } = await mailRig()
    join('a')
    join('b')
    await send({ from: 'a', to: 'b', body: 'mine' })
    expect(mailbox.acknowledge('a', [1])).toEqual({ ids: [] })
    expect(await bodies('b')).toEqual(['mine'])
  })

  it('that is sent at once by one sender stays in its order', async () => {
    const { join, send, bodies } = await mailRig()
    join('a')
    const texts = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat((50 - n) * 100)}`)
    await Promise.all(texts.map((body) => send({ from: 'x', to: 'a', body })))
    expect(await bodies('a')).toEqual(texts)
  })

  it('is given page by page, and never more than a million bytes at once', async () => {
    const { join, send, read } = await mailRig()
    join('a')
    for (let n = 0; n < 20; n++) await send({ from: 'x', to: 'a', body: String(n).repeat(60_000).slice(0, 60_000) })
    const first = await read('a')
    expect(first).toMatchObject({ items: { length: 16 }, next: '16' })
    expect((await read('a', 0, undefined, { after: 16 })).items.map(({ id }) => id)).toEqual(['17', '18', '19', '20'])
    expect(await read('a', 0, undefined, { limit: 3 })).toMatchObject({ items: { length: 3 }, next: '3' })
  })

  it('is at most 64 KB, in bytes', async () => {
    const { join, send } = await mailRig()
    join('a')
    await send({ from: 'x', to: 'a', body: 'ä'.repeat(32_768) })
    await expect(send({ from: 'x', to: 'a', body: `${'ä'.repeat(32_768)}.` })).rejects.toEqual(
      code('TOO_LARGE', '65537'),
    )
  })

  it('waits a thousandfold at most: then the sender is told, and of what goes to all no recipient gets any', async () => {
    const { join, send, bodies, mailbox } = await mailRig()
    join('a')
    join('b')
    for (let n = 0; n < 999; n++) await send({ from: 'x', to: 'a', body: String(n) })
    await send({ from: 'x', to: 'session:s-a', body: 'the last' })
    for (const to of ['a', 'session:s-a', '*'])
      await expect(send({ from: 'x', to })).rejects.toMatchObject({
        code: 'CONFLICT',
        details: { full: [to === '*' ? 'a' : to] },
      })
    expect(await bodies('b')).toEqual([])
    mailbox.acknowledge('a', [1])
    await send({ from: 'x', to: '*', body: 'for all' })
    expect(await bodies('b')).toEqual(['for all'])
  })

  it('expires after 7 days', async () => {
    const { join, send, bodies, mailbox, pass } = await mailRig()
    join('a')
    await send({ from: 'x', to: 'a', body: 'old' })
    pass(7 * 86_400_000)
    await send({ from: 'x', to: 'a', body: 'new' })
    expect(mailbox.expire()).toBe(0)
    pass(1)
    expect(mailbox.expire()).toBe(1)
    expect(await bodies('a')).toEqual(['new'])
  })

  it('holds no credentials, and the sender is told', async () => {
    const { join, send, read } = await mailRig()
    join('a')
    const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`
    const { redacted } = await send({ from: 'x', to: 'a', body: `it is ${token}`, summary: `${token}!` })
    expect(redacted).toEqual(['github-token'])
    const [{ body = '', summary = '' } = {}] = (await read('a')).items
    expect([body, summary].join()).not.toContain(token)
  })
})

describe('a request', () => {
  const ask = { from: 'lead', to: 'worker', kind: 'plan_approval_request' }
  const answer = { from: 'worker', to: 'lead', kind: 'plan_approval_response', requestId: 'r1', approve: true }

  it('has an id, which the one answer to it names', async () => {
    const { join, send, read, mailbox } = await mailRig()
    join('lead')
    join('worker')
    expect(await send({ ...ask, requestId: 'r1' })).toMatchObject({ requestId: 'r1' })
    mailbox.acknowledge('worker', [1])
    expect(await send(answer)).toEqual({ ids: ['2'], redacted: [] })
    expect((await read('lead')).items).toMatchObject([
      { kind: 'plan_approval_response', requestId: 'r1', approve: true },
    ])
    await expect(send({ ...answer, approve: false })).rejects.toEqual(code('CONFLICT', 'has answered'))
    await expect(send({ ...ask, requestId: 'r1' })).rejects.toEqual(code('CONFLICT', 'already'))
  })

  it('is given an id where it has none', async () => {
    const { join, send, read } = await mailRig()
    join('lead')
    join('worker')
    const { requestId } = await send({ from: 'lead', to: '*', kind: 'shutdown_request' })
    expect((await read('worker')).items).toMatchObject([{ requestId, to: '*' }])
    await send({ from: 'session:s-worker', to: 'session:s-lead', kind: 'shutdown_response', requestId, approve: true })
    expect((await read('lead')).items).toMatchObject([{ requestId, approve: true }])
  })

  it.each([
    ['that no member made', { ...answer, requestId: 'other' }, 'REFUSED', 'no plan_approval_request with the id other'],
    ['of another kind', { ...answer, kind: 'shutdown_response' }, 'REFUSED', 'no shutdown_request with the id r1'],
    ['that was made to another member', { ...answer, from: 'bystander' }, 'REFUSED', 'from lead to bystander'],
    ['that another member made', { ...answer, to: 'bystander' }, 'REFUSED', 'from bystander to worker'],
    ['without its id', { ...answer, requestId: undefined }, 'BAD_REQUEST', 'names the request'],
    ['to everybody', { ...answer, to: '*' }, 'BAD_REQUEST', 'goes to the one who asked'],
    ['in a text', { ...answer, kind: 'text', approve: undefined }, 'BAD_REQUEST', 'a text is no request'],
    ['by asking', { ...answer, kind: 'shutdown_request' }, 'BAD_REQUEST', 'only a response says yes or no'],
  ])('%s is not answered', async (_what, letter, refusal, words) => {
    const { join, send, bodies } = await mailRig()
    for (const name of ['lead', 'worker', 'bystander']) join(name)
    await send({ ...ask, requestId: 'r1' })
    await expect(send(letter)).rejects.toEqual(code(refusal, words))
    expect([await bodies('lead'), await bodies('bystander')]).toEqual([[], []])
  })
})

describe('a reader that waits for mail', () => {
  it('is answered when some comes, and so is every other that waits for it', async () => {
    const { join, send, read } = await mailRig()
    join('a')
    join('b')
    const waiting = [read('a', 30), read('session:s-a', 30), read('a', 30)]
    const other = read('b', 30)
    await send({ from: 'x', to: 'a', body: 'come' })
    for (const { items } of await Promise.all(waiting)) expect(items).toMatchObject([{ body: 'come' }])
    expect(await Promise.race([other, Promise.resolve('waits')])).toBe('waits')
    await send({ from: 'x', to: 'b', body: 'too' })
    expect((await other).items).toMatchObject([{ body: 'too' }])
  })

  it('is answered when the time is over', async () => {
    const { join, read, pass } = await mailRig()
    join('a')
    const waiting = read('a', 30)
    pass(29_999)
    expect(await Promise.race([waiting, Promise.resolve('waits')])).toBe('waits')
    pass(1)
    expect(await waiting).toEqual({ items: [] })
  })

  it('goes on waiting when there is nothing for it after all', async () => {
    const { join, send, read, mailbox } = await mailRig()
    join('a')
    const waiting = read('a', 30)
    mailbox.wake()
    await send({ from: 'x', to: '*', body: 'first' })
    mailbox.acknowledge('a', [1])
    await send({ from: 'x', to: 'a', body: 'second' })
    const after = read('a', 30, undefined, { after: 2 })
    await send({ from: 'x', to: 'a', body: 'third' })
    expect((await after).items).toMatchObject([{ body: 'third' }])
    expect((await waiting).items.map(({ body }) => body)).not.toEqual([])
  })

  it('may give up, and does not hold up a daemon that stops', async () => {
    const { join, read, mailbox } = await mailRig()
    join('a')
    const giveUp = new AbortController()
    const waiting = [read('a', 30, giveUp.signal), read('a', 30)]
    giveUp.abort()
    expect(await waiting[0]).toEqual({ items: [] })
    mailbox.close()
    expect(await waiting[1]).toEqual({ items: [] })
    expect(await read('a', 30)).toEqual({ items: [] })
  })
})
