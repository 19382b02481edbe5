import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { absoluteDates, relativeDatesIn } from '../../daemon/extraction/dates/dates.ts'

/** A Tuesday. */
const AT = '2026-05-12T10:15:00+02:00'

const resolve = (text: string, at = AT) => absoluteDates(text, at).text

describe('relative dates', () => {
  it.each([
    ['the freeze starts tomorrow', 'the freeze starts 2026-05-13'],
    ["yesterday's outage", '2026-05-11 outage'],
    ['due today', 'due 2026-05-12'],
    ['the day after tomorrow we cut', '2026-05-14 we cut'],
    ['code freeze EOD Friday', 'code freeze end of day 2026-05-15'],
    ['by EOD Tuesday', 'by end of day 2026-05-12'],
    ['frozen from Thursday, open again the Monday after', 'frozen from 2026-05-14, open again 2026-05-18'],
    ['the release goes out on Thursday', 'the release goes out on 2026-05-14'],
    ['we lost a disk on Thursday', 'we lost a disk on 2026-05-07'],
    ['I joined the team on Monday', 'I joined the team on 2026-05-11'],
    ['the launch was moved to Monday', 'the launch was moved to 2026-05-18'],
    ['we agreed to ship on Friday', 'we agreed to ship on 2026-05-15'],
    ['broken since Saturday', 'broken since 2026-05-09'],
    ['due by Fri', 'due by 2026-05-15'],
    ['this Friday', '2026-05-15'],
    ['next Monday', '2026-05-18'],
    ['next Friday', '2026-05-22'],
    ['last Friday', '2026-05-08'],
    ['Friday next week', '2026-05-22'],
    ['a week from Thursday', '2026-05-21'],
    ['done in two weeks', 'done on 2026-05-26'],
    ['in 90 days', 'on 2026-08-10'],
    ['the audit is on Thursday in two weeks', 'the audit is on 2026-05-28'],
    ['in three weeks on Monday', '2026-06-01'],
    ['the lease ends in half a year', 'the lease ends on 2026-11-12'],
    ['in 3 business days', 'on 2026-05-15'],
    ['in 5 working days', 'on 2026-05-19'],
    ['within a month', 'by 2026-06-12'],
    ['three days ago', '2026-05-09'],
    ['for the next two weeks', 'until 2026-05-26'],
    ['by the end of the month', 'by 2026-05-31'],
    ['by end of next month', 'by 2026-06-30'],
    ['through the end of the week', 'through 2026-05-15'],
    ['by the end of the quarter', 'by 2026-06-30'],
    ['end of Q3', '2026-09-30'],
    ['end of year', '2026-12-31'],
    ['it goes into Q3', 'it goes into Q3 2026 (2026-07-01..2026-09-30)'],
    ['it goes into Q1', 'it goes into Q1 2027 (2027-01-01..2027-03-31)'],
    ['goal for this quarter', 'goal for Q2 2026 (2026-04-01..2026-06-30)'],
    ['sometime next week', 'sometime the week of 2026-05-18'],
    ['next month', '2026-06'],
    ['the deadline is the 15th', 'the deadline is 2026-05-15'],
    ['the deadline is the 9th, no later', 'the deadline is 2026-06-09, no later'],
    ['on June 5', 'on 2026-06-05'],
    ['until 2nd of July', 'until 2026-07-02'],
    ['the contract ends March 31', 'the contract ends 2027-03-31'],
    ['we shipped it on March 31', 'we shipped it on 2026-03-31'],
    ['from June 5, 2027', 'from 2027-06-05'],
    ['it is paused until she arrives in January', 'it is paused until she arrives in January 2027'],
    ['we were hacked in november', 'we were hacked in november 2025'],
    ['明天晚上八点开始', '2026-05-13 晚上八点开始'],
    ['后天切新机房', '2026-05-14 切新机房'],
    ['两周后的周三验收', '2026-05-27 验收'],
    ['大后天上线', '2026-05-15 上线'],
    ['昨天凌晨出了事故', '2026-05-11 凌晨出了事故'],
    ['今晚发版', '2026-05-12 晚发版'],
    ['从下周一开始', '从 2026-05-18 开始'],
    ['下下周三上线', '2026-05-27 上线'],
    ['这周五之前', '2026-05-15 之前'],
    ['上周五发的', '2026-05-08 发的'],
    ['周五上线', '2026-05-15 上线'],
    ['礼拜一刚发布了', '2026-05-11 刚发布了'],
    ['月底提审', '2026-05-31 提审'],
    ['下个月底到期', '2026-06-30 到期'],
    ['四月底测评', '2027-04-30 测评'],
    ['6月底下线', '2026-06-30 下线'],
    ['by the end of June', 'by 2026-06-30'],
    ['we rolled back 5.1 on Monday', 'we rolled back 5.1 on 2026-05-11'],
    ['下月初评审', '2026-06-01 评审'],
    ['下个月15号验收', '2026-06-15 验收'],
    ['六月十五号解封', '2026-06-15 解封'],
    ['5月20日截止', '2026-05-20 截止'],
    ['20号之前', '2026-05-20 之前'],
    ['三天后下线', '2026-05-15 下线'],
    ['两周内合完', '2026-05-26 前合完'],
    ['半个月后', '2026-05-27'],
    ['季度末交付', '2026-06-30 交付'],
    ['Q3 末上线', '2026-09-30 上线'],
    ['第四季度做', 'Q4 2026 (2026-10-01..2026-12-31) 做'],
    ['年底前完成', '2026-12-31 前完成'],
  ])('%s', (said, meant) => {
    expect(resolve(said)).toBe(meant)
    expect(relativeDatesIn(meant)).toEqual([])
  })

  it.each([
    'standup is every Monday at 9',
    'on Mondays we deploy',
    'call `tomorrow` from today.ts',
    'the 2nd option',
    'in the 3rd row',
    'this may 5xx',
    'rename next_monday to nextMonday()',
    'the sun sat on it',
    'Q3 2026 (2026-07-01..2026-09-30)',
    'released 2026-03-02',
    '每周一例会',
    '周一到周五都有人',
    '第三天后端',
    '10号线',
  ])('leaves %s alone', (text) => {
    expect(absoluteDates(text, AT)).toEqual({ text, changes: [] })
  })

  it('takes the day of the place where it was said', () => {
    expect(resolve('tomorrow', '2026-03-31T20:30:00-07:00')).toBe('2026-04-01')
    expect(resolve('明天', '2026-04-01T00:30:00+08:00')).toBe('2026-04-02')
  })

  it('knows the lengths of months and the turn of the year', () => {
    expect(resolve('by the end of the month', '2028-02-03T10:00:00Z')).toBe('by 2028-02-29')
    expect(resolve('the 31st', '2026-04-02T10:00:00Z')).toBe('2026-05-31')
    expect(resolve('in two weeks', '2026-12-24T10:00:00Z')).toBe('on 2027-01-07')
    expect(resolve('next quarter', '2026-12-24T10:00:00Z')).toBe('Q1 2027 (2027-01-01..2027-03-31)')
  })

  it.each([
    ['due Feb 29', 'due 2028-02-29'],
    ['broken since Feb 29', 'broken since 2024-02-29'],
    ['2月29日发版', '2028-02-29 发版'],
    // No day of the calendar fits these.
    ['due April 31', 'due April 31'],
    ['February 29, 2027', 'February 29, 2027'],
    ['the 31st of next month', '2026-06-30'],
    ['下个月31号', '2026-06-30'],
  ])('knows which days there are: %s', (text, expected) => {
    expect(resolve(text)).toBe(expected)
  })

  it.each([
    ['March 1 next year', '2027-03-01'],
    ['on the 1st of March next year', 'on 2027-03-01'],
    ['next year on March 1', '2027-03-01'],
    ['December 5 last year', '2025-12-05'],
    ['by the end of March next year', 'by 2027-03-31'],
    ['in March of next year', 'in March 2027'],
    ['we may next year drop it', 'we may 2027 drop it'],
    ['Q2 next year', 'Q2 2027 (2027-04-01..2027-06-30)'],
    ['明年3月1日上线', '2027-03-01 上线'],
    ['去年12月1号', '2025-12-01'],
    ['今年三月', '2026-03'],
    ['后年3月底', '2028-03-31'],
    ['前年年底', '2024-12-31'],
    ['以后年底都要盘点', '以后 2026-12-31 都要盘点'],
    ['two weeks from Friday', '2026-05-29'],
    ['by Friday week', 'by 2026-05-22'],
  ])('keeps a day and the year it is said with together: %s', (text, expected) => {
    expect(resolve(text)).toBe(expected)
  })

  it('says what it changed', () => {
    expect(absoluteDates('freeze tomorrow, open again May 22', AT).changes).toEqual([
      { from: 'tomorrow', to: '2026-05-13' },
      { from: 'May 22', to: '2026-05-22' },
    ])
  })

  it('leaves a text alone when the time of the message is unknown', () => {
    expect(absoluteDates('tomorrow', 'some day')).toEqual({ text: 'tomorrow', changes: [] })
  })

  it('leaves nothing relative behind, on any day', () => {
    const words = [
      'tomorrow',
      'on Monday',
      'next Friday',
      'the 15th',
      'end of Q2',
      'EOD Friday',
      '下周三',
      '月底',
      '两周后',
      'Q3',
    ]
    const days = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }), days, (said, day) => {
        expect(relativeDatesIn(resolve(`ship ${said.join(', ')}.`, day.toISOString()))).toEqual([])
      }),
    )
  })
})
