import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { relativeDatesIn } from '../../daemon/extraction/dates/dates.ts'
import { compilePatterns, statementsIn } from '../../daemon/extraction/statements.ts'
import { redact } from '../../daemon/secrets/redact.ts'
import { figuresOf, StatementItem, score } from '../bench/statements.ts'
import { cpuMs } from '../support/cpu.ts'

const AT = '2026-05-12T10:15:00+02:00'

const said = (text: string, previousAssistant?: string) => statementsIn({ text, atIso: AT, previousAssistant })

function itemsOf(file: string): StatementItem[] {
  const lines = readFileSync(join(import.meta.dirname, '../fixtures/statements', file), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => StatementItem.parse(JSON.parse(line)))
}

describe('statements in a message', () => {
  it('become a memory with its type, its reason and the words it rests on', () => {
    const text = "please don't add docstrings to private helpers because they go stale. now rename the parser module"
    expect(said(text)).toEqual([
      {
        type: 'feedback',
        name: "Don't add docstrings to private helpers because they",
        description: "Don't add docstrings to private helpers because they go stale",
        body: "Don't add docstrings to private helpers because they go stale.\n\n**Why:** they go stale.\n",
        quote: "please don't add docstrings to private helpers because they go stale.",
        weight: expect.any(Number),
        cues: expect.arrayContaining(['prohibition']),
      },
    ])
  })

  it.each([
    ['user', 'I am a data engineer, mostly Spark'],
    ['feedback', 'whenever you touch the billing module, ping me before merging'],
    ['project', 'we decided to stay on postgres 15 because of the extension'],
    ['feedback', 'In future always use tabs.'],
    ['feedback', 'In future PRs squash the commits.'],
    ['feedback', 'Please make sure always to run the linter before you push.'],
    ['feedback', 'Always use pnpm in this repo. add some'],
    ['feedback', 'Every commit message starts with: the ticket number. Always use pnpm.'],
    ['reference', 'customer escalations are tracked in the Jira board ESC'],
    ['user', '我是测试工程师，对前端不太熟'],
    ['feedback', '以后提交信息都用英文写'],
    ['project', '我们决定放弃自研网关，因为没人力维护'],
    ['reference', '需求都记在飞书文档「增长需求池」里'],
  ])('are of the type %s: %s', (type, text) => {
    expect(said(text).map((each) => each.type)).toEqual([type])
  })

  it('have absolute dates, in the time zone they were made in', () => {
    const [statement] = statementsIn({
      text: 'heads up: code freeze starts tomorrow',
      atIso: '2026-03-31T20:30:00-07:00',
    })
    expect(statement?.body).toBe('Code freeze starts 2026-04-01.\n')
    expect(statement?.quote).toBe('heads up: code freeze starts tomorrow')
  })

  it('say when they apply where the words do', () => {
    const [statement] = said('whenever you touch the billing module, ping me before merging')
    expect(statement?.body).toContain('**How to apply:** Whenever you touch the billing module.')
  })

  it.each([
    "don't merge it yet, I want to read it first",
    'I was a pilot in another life haha',
    'I have to leave at six today',
    'if we ever dropped the cache, how would that look',
    '如果以后都用 Rust 写要多久',
    'clean up the temp folder when you are done',
    "I'm in Osaka for a fair this week",
    '> nobody deploys on Fridays\n\nthat is from the old wiki',
    'every cell needs a unit, otherwise the table is wrong. add one',
    'from here on the log is only noise',
    'I tried that font but never liked it',
    '[WARN] 必须先登录，禁止匿名访问',
    '以后有空再重构',
    "I can't review anything until Monday",
  ])('are not seen in what holds for now, is asked or is said in jest: %s', (text) => {
    expect(said(text)).toEqual([])
  })

  it('are the same while the rules are still being compiled', () => {
    const text = 'never push to main, always open a PR by Friday. 明天封版'
    const before = said(text)
    expect(before.length).toBeGreaterThan(0)
    let steps = 0
    for (const _ of compilePatterns()) if (steps++ % 50 === 0) expect(said(text)).toEqual(before)
    // One at a time: what others wait for is a single pattern.
    expect(steps).toBeGreaterThan(1_000)
  })

  it.each([
    ['explicit casts over implicit conversions', 'I cast it implicitly.'],
    ['one topic per commit please', 'Committed all of it.'],
    ["I can't stand one-liners. spell the steps out", 'I wrote it as a one-liner.'],
    ['start with the risk, otherwise I get lost', 'Here is the plan, and the risk at its end.'],
  ])('are heard in few words where these answer something: %s', (text, previous) => {
    expect(said(text)).toEqual([])
    expect(said(text, previous).map(({ type }) => type)).toEqual(['feedback'])
  })

  it('are found by a confirmation only where there is something to confirm', () => {
    const text = 'yes exactly, one big PR was the right call here, splitting it would be churn'
    expect(said(text)).toEqual([])
    expect(said(text, 'I kept the rename in one PR.')).toHaveLength(1)
  })

  it('are not taken from what was pasted', () => {
    const rule = 'never push to main, always rebase first'
    expect(said(rule)).toHaveLength(1)
    for (const pasted of [
      `> ${rule}`,
      `\`\`\`\n${rule}\n\`\`\``,
      `From: Tom\nSubject: rules\n\n${rule}`,
      `[10:02] lena: ${rule}`,
    ])
      expect(said(`${pasted}\n`), pasted).toEqual([])
    expect(said(`"${rule}"`)).toEqual([])
  })

  it('leave out the credential beside them and what was said about it', async () => {
    const key = `ghp_${'fA4kE0x9LmZq2Rt7Yb6Wc1Uv3Sd8Ne5HjK0p'}`
    const { text } = await redact(
      `always read the token from the environment, use ${key} for today. it's only the sandbox`,
    )
    expect(said(text).map(({ body }) => body)).toEqual(['Always read the token from the environment.\n'])
  })

  it.each([
    'plain.jsonl',
    'casual.jsonl',
    'traps.jsonl',
    'pairs.jsonl',
    'daily.jsonl',
    'later.jsonl',
    'rounds.jsonl',
    'few-words.jsonl',
  ])('are told from everything else in %s', async (file) => {
    const figures = figuresOf(await Promise.all(itemsOf(file).map(score)))
    expect(figures.precision.value).toBeGreaterThanOrEqual(92)
    expect(figures.recall.value).toBeGreaterThanOrEqual(60)
    expect(figures.type.value).toBeGreaterThanOrEqual(90)
    expect(figures.dates.value).toBeGreaterThanOrEqual(95)
    expect(figures['secrets saved'].value).toBe(0)
  })

  it('never hold a relative date, and quote the person to the letter', () => {
    const part = fc.constantFrom(
      'always',
      'never',
      'we decided',
      'tomorrow',
      'on Friday',
      'because',
      'in Jira',
      '以后',
      '下周三',
      '都',
      ', ',
      '. ',
      '\n',
      'use',
      'x',
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
        const text = parts.join(' ')
        for (const { body, quote } of said(text)) {
          expect(relativeDatesIn(body)).toEqual([])
          for (const word of quote.split(/\s+/)) expect(text).toContain(word)
        }
      }),
    )
  })

  it.each([
    ['a log', '2026-05-12T10:00:00Z WARN never do this, always retry\n'.repeat(2_000)],
    ['prose', 'We decided to always use it because of the thing in Jira by Friday. '.repeat(1_500)],
    ['short lines', 'we use x\n'.repeat(11_000)],
    ['one word', '1'.repeat(100_000)],
    ['quotes', `'"\``.repeat(33_000)],
    ['Chinese', '我们决定以后都在飞书看，'.repeat(8_000)],
  ])('take no longer to look for than 100 KB of %s is longer than a quarter of it', (_what, text) => {
    const fastestMs = (whole: string) => Math.min(...Array.from({ length: 3 }, () => cpuMs(() => said(whole))))
    const quarterMs = fastestMs(text.slice(0, text.length / 4))
    // Four times as long; what takes the square of it takes sixteen times as long.
    expect(fastestMs(text)).toBeLessThan(Math.max(10 * quarterMs, 20))
  })
})
