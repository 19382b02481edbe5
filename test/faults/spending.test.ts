import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { hello } from '../models/asking.ts'
import { spendingRig } from '../models/spending.ts'
import { manualTime } from '../support/clock.ts'
import { makeHome } from '../support/home.ts'
import { type Answer, broken, overloaded, rateLimited, says } from '../support/messages-api/answers.ts'
import type { MessagesApi, Seen } from '../support/messages-api/server.ts'
import { startMessagesApi } from '../support/messages-api/start.ts'
import { seeded } from '../support/seed.ts'

const program = fileURLToPath(new URL('../support/spend-once.ts', import.meta.url))
const models = { 'claude-haiku-5-5': { prices: [{ input: 1_000, output: 1_000 }] } }
const DAY = 86_400_000

describe('the budget', () => {
  it('is not passed by processes that are killed between reserving and settling', async () => {
    const api = await startMessagesApi({ script: () => ({ fault: 'silent' }) })
    const home = makeHome()
    const { stateDir } = home.places
    const run = async () => {
      const child = spawn(process.execPath, [program, stateDir, api.url, '5'], { stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      const said = once(child.stdout, 'data').then(([chunk]) => JSON.parse(String(chunk)))
      const first = await Promise.race([api.request(api.requests.length + 1), said])
      if ('failed' in first) return first
      child.kill('SIGKILL')
      await exited
      return undefined
    }
    // Each may cost a bit less than a dollar: five fit into five, however they end.
    for (let n = 0; n < 5; n++) expect(await run()).toBeUndefined()
    expect(await run()).toMatchObject({ failed: 'budget', untilMs: expect.any(Number) })
    expect(api.requests).toHaveLength(5)
    const { model, ledger } = await spendingRig(
      { usdPerDay: 5, tokensPerDay: 1_000_000, models },
      { url: api.url, time: manualTime(Date.now()), home },
    )
    expect(model.budget().usd).toBeGreaterThan(4.5)
    expect(model.budget().usd).toBeLessThanOrEqual(5)
    expect(ledger.totals('job', '0000-00-00')).toMatchObject([{ key: 'dream', calls: 5, unsettled: 5 }])
  })

  it('is not passed in a storm of errors, cuts and calls at once, under a clock that goes forward and back', async () => {
    const random = seeded('spending')
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    const long = (tokens: number) => says('A word or two. '.repeat(12), { outputTokens: tokens })
    const answers = (): readonly Answer[] => [
      rateLimited(1),
      overloaded,
      broken,
      long(Math.floor(random() * 200)),
      long(200),
      { fault: 'cut', of: long(200) },
      { fault: 'unfinished', of: long(200) },
      { fault: 'error-event', of: long(200), type: 'overloaded_error', message: 'Overloaded' },
      { fault: 'reset' },
    ]
    const given = new Map<Seen, Answer>()
    const api: MessagesApi = await startMessagesApi({
      script: (seen) => {
        const answer = pick(answers())
        given.set(api.requests.find((other) => other === seen) ?? seen, answer)
        return answer
      },
    })
    const start = new Date(2026, 2, 10, 12).getTime()
    const time = manualTime(start)
    const caps = { usdPerDay: 3, tokensPerDay: 1_500, models }
    const { model } = await spendingRig(caps, { url: api.url, time })
    const days = new Set<number>()
    let refused = 0
    for (let round = 0; round < 60; round++) {
      // Between three days, back and forth.
      const day = Math.floor(random() * 3)
      time.jump(start + day * DAY - time.clock.now())
      days.add(day)
      const before = api.requests.length
      const request = { ...hello, maxTokens: 200 }
      const asked = Array.from({ length: 1 + Math.floor(random() * 4) }, () =>
        model.provider({ job: 'x' }).call(request, { signal: new AbortController().signal }),
      )
      for (const answer of await Promise.all(asked)) if ('failed' in answer && answer.failed === 'budget') refused++
      // A day before others may show what they cost too, and then nothing more is sent.
      if (api.requests.length === before) continue
      expect(model.budget().usd).toBeLessThanOrEqual(caps.usdPerDay)
      expect(model.budget().tokens).toBeLessThanOrEqual(caps.tokensPerDay)
    }
    // What it would really have cost, as the server knows it: whatever it began to answer was worked on to its end.
    const charged = [...given].map(([{ usage }, answer]) => costOf(usage?.input ?? 0, answer))
    const dollars = charged.reduce((sum, one) => sum + one, 0)
    expect(refused).toBeGreaterThan(0)
    expect(dollars).toBeGreaterThan(1)
    expect(dollars).toBeLessThanOrEqual(caps.usdPerDay * days.size)
  })
})

function costOf(input: number, answer: Answer): number {
  if ('status' in answer) return 0
  const said = 'of' in answer ? answer.of : answer
  return (input + ('outputTokens' in said ? (said.outputTokens ?? 0) : 0)) / 1_000
}
