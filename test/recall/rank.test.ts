import { describe, expect, it } from 'vitest'
import { createWordIndex, type Indexed } from '../../daemon/recall/corpus.ts'
import { ENOUGH, rank } from '../../daemon/recall/rank.ts'

const memory = (file: string, name: string, description: string, body = ''): Indexed => ({
  file,
  name,
  description,
  body,
})

const memories = [
  memory(
    'auth.md',
    'Auth token renewal',
    'Access tokens are renewed a minute before they expire',
    'See `renewToken()`.',
  ),
  memory(
    'db.md',
    'Integration tests use the real database',
    'Postgres in a container',
    'Never mock the repository layer.',
  ),
  memory('freeze.md', 'Merge freeze', 'Nothing is merged to main after 2026-03-05', 'Priya decides about exceptions.'),
  memory(
    'paths.md',
    'Where retries are counted',
    'The counter',
    'In `packages/queue/src/retryBudget.ts`, `MAX_ATTEMPTS`.',
  ),
  memory('cn.md', '周五不发布', '周五下午不要部署到生产环境', '紧急修复需要批准。'),
  memory('mixed.md', '缓存策略', 'Redis 缓存过期时间加随机抖动', '使用 singleflight 合并请求'),
  memory('style.md', 'Commit message style', 'Imperative, no emoji', 'At most 72 characters.'),
]

function indexOf(all: readonly Indexed[]) {
  const index = createWordIndex()
  for (const each of all) index.put(each)
  return index
}

const index = indexOf(memories)
const seen = (question: string, of: typeof index) => {
  const { fit, explained } = rank(question, of, { limit: 5, explain: true })
  return { fit, ranked: explained }
}
const first = (question: string) => {
  const { files, fit } = rank(question, index, { limit: 5 })
  return fit >= ENOUGH ? files[0] : undefined
}

describe('rank', () => {
  it.each([
    ['a natural question in other words', 'how do I fix the token refresh?', 'auth.md'],
    ['a question with other forms of the words', 'should we be mocking repositories in an integration test', 'db.md'],
    ['an identifier', 'renewToken', 'auth.md'],
    ['an identifier in another notation', 'what is renew_token for', 'auth.md'],
    ['a constant by its parts', 'how many max attempts', 'paths.md'],
    ['a path', 'packages/queue/src/retryBudget.ts', 'paths.md'],
    ['the end of a path', 'retryBudget.ts', 'paths.md'],
    ['Chinese', '周五可以部署吗', 'cn.md'],
    ['Chinese in other words for the same day', '星期五能上线吗', 'cn.md'],
    ['mixed text', '用 singleflight 处理 Redis 缓存', 'mixed.md'],
    ['full-width letters', 'ｓｉｎｇｌｅｆｌｉｇｈｔ', 'mixed.md'],
    ['a day in another notation', 'what ends on 5 March 2026?', 'freeze.md'],
    ['a letter too few', 'comit mesage style', 'style.md'],
    ['two letters swapped', 'intergation tests', 'db.md'],
    ['a wrong first letter', 'nerge freeze', 'freeze.md'],
    ['a wrong last letter', 'postgrez', 'db.md'],
    ['a short form', 'repo layer mocks', 'db.md'],
  ])('finds by %s', (_, question, file) => {
    expect(first(question)).toBe(file)
  })

  it.each([
    'what is the weather in Lisbon tomorrow',
    'write a haiku about leaves',
    'how does Bluetooth pairing work on the watch?',
    '蓝牙耳机连接不上',
    'thanks, and how are you?',
    '',
    '?!',
  ])('has nothing that fits %j', (question) => {
    expect(first(question)).toBeUndefined()
  })

  it('is silent about a person it has never heard of, whatever else fits', () => {
    expect(first('who decides about exceptions to the freeze?')).toBe('freeze.md')
    expect(first('what did Rafael decide about merge requests for Lisbon?')).toBeUndefined()
  })

  it('gives no more than asked for, and none that is to be skipped', () => {
    const { files } = rank('token tests merge commit', index, { limit: 2, skip: (file) => file === 'auth.md' })
    expect(files).toHaveLength(2)
    expect(files).not.toContain('auth.md')
  })

  it('says which words it found', () => {
    const { explained } = rank('token refresh trouble', index, { limit: 1, explain: true })
    expect(explained?.[0]?.words).toEqual(['token', 'refresh'])
  })

  it('leaves out the same memories of many that fit alike, in whichever order they were read', () => {
    const alike = Array.from({ length: 100 }, (_, n) => memory(`note_${n}.md`, 'Merge freeze', `Week ${n}`))
    const reread = indexOf(alike)
    for (const each of alike.slice(0, 50)) reread.put(each)
    const skip = (file: string) => file < 'note_5'
    for (const options of [{ limit: 5 }, { limit: 5, skip }]) {
      const { files } = rank('merge freeze', indexOf(alike), options)
      expect(files).toEqual(files.toSorted())
      for (const other of [indexOf(alike.toReversed()), reread])
        expect(rank('merge freeze', other, options).files).toEqual(files)
    }
  })

  it.each([
    ['mistyped', 'harbox'],
    ['cut short', 'harb'],
  ])('gives a word that is %s the same weight, whichever of the words it may stand for was read first', (_, word) => {
    const many = Array.from({ length: 20 }, (_, n) => memory(`many_${n}.md`, 'Harbor', `Week ${n}`))
    const rare = [memory('rare.md', 'Harbot', 'A person'), memory('other.md', 'Other', 'A house')]
    const question = `${word} house`
    expect(seen(question, indexOf([...rare, ...many]))).toEqual(seen(question, indexOf([...many, ...rare])))
  })

  it('stays right when ids are given anew', () => {
    const worn = indexOf(memories)
    for (let n = 0; n < 2_500; n++) worn.put(memory('turned.md', `Turn ${n}`, 'over and over'))
    worn.remove('turned.md')
    expect(worn.idLimit()).toBeLessThan(2_000)
    expect(seen('token refresh', worn)).toEqual(seen('token refresh', index))
  })

  it('takes its time in proportion to a hostile text', () => {
    const hostile = indexOf([memory('long.md', 'x'.repeat(100_000), 'a-'.repeat(50_000), 'aB'.repeat(60_000))])
    expect(rank('y'.repeat(1_000_000), hostile, { limit: 5 }).files).toEqual([])
  })
})

it('moves up what has in common with the best what the question does not say', () => {
  const filler = Array.from({ length: 20 }, (_, n) => memory(`z${n}.md`, `Filler ${n}`, `Unrelated matter ${n}`))
  const best = [0, 1, 2].map((n) => memory(`best${n}.md`, 'Deploy pipeline', 'Deploy pipeline with canary'))
  const all = [...best, memory('a.md', 'Deploy notes', 'Lunch'), memory('b.md', 'Deploy notes', 'Canary'), ...filler]
  const { files } = rank('deploy pipeline', indexOf(all), { limit: 5 })
  expect(files).toEqual(['best0.md', 'best1.md', 'best2.md', 'b.md', 'a.md'])
})
