/** Relative dates as Chinese-speaking engineers type them. Data: a form a line; the longer before what it contains. */
import {
  addMonths,
  addWorkingDays,
  dayIn,
  dayOf,
  dayOfMonth,
  dayOfMonthAway,
  type Form,
  inWeek,
  iso,
  isoMonth,
  monthAlone,
  monthAndDay,
  monthEnd,
  monthStart,
  nearest,
  partsOf,
  plain,
  quarterEnd,
  quarterOf,
  quarterSpan,
  quarterStart,
  type Weekday,
  weekStart,
} from './date-form.ts'

const WEEK = '(?:周|星期|礼拜)'
const DAY = '([一二三四五六日天])'
const NUMBER = '(\\d{1,3}|[一二两三四五六七八九十]{1,3}|半)'
const DIGITS = '零一二三四五六七八九'

const form = (source: string, says: Form['says']): Form => ({ pattern: new RegExp(source, 'g'), says })

const weekdayOf = (word: string) => '一二三四五六日'.indexOf(word === '天' ? '日' : word) as Weekday

/** Up to ninety-nine, as days and months need it. */
function numberOf(word: string): number {
  if (/^\d+$/.test(word)) return Number(word)
  const plainWord = word.replaceAll('两', '二')
  const [tens, ones] = plainWord.split('十')
  if (ones === undefined) return DIGITS.indexOf(plainWord)
  return (tens ? DIGITS.indexOf(tens) : 1) * 10 + (ones ? DIGITS.indexOf(ones) : 0)
}

function ahead(count: string, unit: string, today: number): number {
  if (count === '半') return today + (unit.includes('月') ? 15 : unit.includes('年') ? 182 : 0)
  const number = numberOf(count)
  if (unit.includes('工作日')) return addWorkingDays(today, number)
  if (/天|日/.test(unit)) return today + number
  if (/周|星期|礼拜/.test(unit)) return today + number * 7
  return addMonths(today, unit.includes('年') ? number * 12 : number)
}

const behind = (count: string, unit: string, today: number) => {
  const days = ahead(count, unit, today) - today
  return /月|年/.test(unit) && count !== '半'
    ? addMonths(today, -numberOf(count) * (unit.includes('年') ? 12 : 1))
    : today - days
}

const MONTH = '(\\d{1,2}|[一二三四五六七八九十]{1,2}) ?月'
const DAY_OF_MONTH = '(\\d{1,2}|[一二三十][一二三四五六七八九十]{0,2}) ?[号日]'
/** 前年 and 后年 only where they are not the end of 以前 and 以后. */
const YEAR = '((?<![以之然今])后|(?<![以之年月天周日])前|今|明|去)年'
const yearOf = (which: string, today: number) => partsOf(today).year + ({ 明: 1, 去: -1, 后: 2, 前: -2 }[which] ?? 0)

const UNIT = '(个?工作日|天|周|个?星期|个?礼拜|个?月|年)'

export const chinese: readonly Form[] = [
  form('大后天', (_, { today }) => plain(today + 3)),
  form('大前天', (_, { today }) => plain(today - 3)),
  form('后天', (_, { today }) => plain(today + 2)),
  form('前天', (_, { today }) => plain(today - 2)),
  form('明(?:天|日|儿)|明(?=早|晚|上午|下午)', (_, { today }) => plain(today + 1)),
  form('昨(?:天|日|儿)|昨(?=晚|夜)', (_, { today }) => plain(today - 1)),
  form('(?:今天|今日|今儿)|今(?=早|晚|夜)', (_, { today }) => plain(today)),
  form(`(下下|下|上|这|本)个?${WEEK}${DAY}`, ([, which = '', day = ''], { today }) => {
    const weeks = { 下下: 2, 下: 1, 上: -1 }[which] ?? 0
    return plain(inWeek(weekdayOf(day), today, weeks))
  }),
  form(`${NUMBER} ?个?${WEEK}(?:之|以)?后的?${WEEK}${DAY}`, ([, count = '', day = ''], { today }) =>
    count === '半' ? undefined : plain(inWeek(weekdayOf(day), today, numberOf(count))),
  ),
  form(`(?<![每到至、\\d一二两三四五六七八九十])${WEEK}${DAY}(?![到至、])`, ([, day = ''], context) =>
    plain(nearest(weekdayOf(day), context)),
  ),
  form('(?:这个?|本)?周末', (_, { today }) => plain(weekStart(today, 0) + 5)),
  form(`(下下|下|上|这|本)个?${WEEK}(?!末|[一二三四五六日天])(初|末)?`, ([, which = ''], { today }) => {
    const weeks = { 下下: 2, 下: 1, 上: -1 }[which] ?? 0
    return { text: `${iso(weekStart(today, weeks))} 那一周`, day: weekStart(today, weeks) }
  }),
  form('(?<![\\d一二三四五六七八九十] ?)(下个?|本|这个?)?月(?:底|末)', ([, which = ''], { today }) =>
    plain(monthEnd(today, which.startsWith('下') ? 1 : 0)),
  ),
  form('(\\d{1,2}|[一二三四五六七八九十]{1,2}) ?月 ?(底|末|初)', ([, word = '', part], context) => {
    const month = numberOf(word)
    if (month < 1 || month > 12) return undefined
    const start = dayOf(monthAlone(month, context).year, month, 1)
    return plain(part === '初' ? start : monthEnd(start, 0))
  }),
  form(`${YEAR} ?${MONTH} ?${DAY_OF_MONTH}`, ([, which = '', month = '', day = ''], { today }) => {
    const found = dayIn(yearOf(which, today), numberOf(month), numberOf(day))
    return found === undefined ? undefined : plain(found)
  }),
  form(
    `${YEAR} ?${MONTH}(?:份)?([底末初])?(?! ?[\\d一二三四五六七八九十])`,
    ([, which = '', word = '', part], { today }) => {
      const start = dayIn(yearOf(which, today), numberOf(word), 1)
      if (start === undefined) return undefined
      if (part === undefined) return { text: isoMonth(start, 0), day: start }
      return plain(part === '初' ? start : monthEnd(start, 0))
    },
  ),
  form('(下个?)月初', (_, { today }) => plain(monthStart(today, 1))),
  form(
    '(下个?|上个?|本|这个?)月(\\d{1,2}|[一二三十][一二三四五六七八九十]{0,2})[号日]',
    ([, which = '', day = ''], { today }) => {
      const months = which.startsWith('下') ? 1 : which.startsWith('上') ? -1 : 0
      const found = dayOfMonthAway(numberOf(day), today, months)
      return found === undefined ? undefined : plain(found)
    },
  ),
  form('(下个?|上个?|本|这个)月(?![底末初\\d])', ([, which = ''], { today }) => {
    const months = which.startsWith('下') ? 1 : which.startsWith('上') ? -1 : 0
    return { text: isoMonth(today, months), day: monthStart(today, months) }
  }),
  form(
    '(?<!\\d年)(\\d{1,2}|[一二三四五六七八九十]{1,2}) ?月 ?(\\d{1,2}|[一二三十][一二三四五六七八九十]{0,2}) ?[号日]',
    ([, month = '', day = ''], context) => {
      const found = monthAndDay(numberOf(month), numberOf(day), context)
      return found === undefined ? undefined : plain(found)
    },
  ),
  form('(?<![\\d.月A-Za-z-] ?)(\\d{1,2}) ?号(?![线楼机房段码])', ([, day = ''], context) => {
    const found = dayOfMonth(Number(day), context)
    return found === undefined ? undefined : plain(found)
  }),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?后`, ([, count = '', unit = ''], { today }) =>
    plain(ahead(count, unit, today)),
  ),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?内`, ([, count = '', unit = ''], { today }) => {
    const day = ahead(count, unit, today)
    return { text: `${iso(day)} 前`, day }
  }),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?前(?!端)`, ([, count = '', unit = ''], { today }) =>
    plain(behind(count, unit, today)),
  ),
  form('(?:第)?([一二三四])季度(?:末|底)|[Qq]([1-4]) ?(?:末|底|结束)', ([, word, digit], { today }) =>
    plain(quarterEnd(yearFor(word ? numberOf(word) : Number(digit), today), word ? numberOf(word) : Number(digit))),
  ),
  form('(下个?|本|这个?)?季度?(?:末|底)', ([, which = ''], { today }) => {
    const { year, quarter } = quarterOf(today)
    return plain(quarterEnd(year, quarter + (which.startsWith('下') ? 1 : 0)))
  }),
  form('(下个?|本|这个?)季度', ([, which = ''], { today }) => {
    const now = quarterOf(today)
    const { year, quarter } = quarterOf(quarterStart(now.year, now.quarter + (which.startsWith('下') ? 1 : 0)))
    return quarterSpan(year, quarter)
  }),
  form('第?([一二三四])季度', ([, word = ''], { today }) => {
    const quarter = numberOf(word)
    return quarterSpan(yearFor(quarter, today), quarter)
  }),
  form(`${YEAR}年?(?:底|末)|年(?:底|末)`, ([, which = ''], { today }) => plain(quarterEnd(yearOf(which, today), 4))),
  form(YEAR, ([, which = ''], { today }) => {
    const year = yearOf(which, today)
    return { text: `${year} 年`, day: quarterStart(year, 1) }
  }),
]

/** A quarter that is over this year is the next year's. */
function yearFor(quarter: number, today: number): number {
  const now = quarterOf(today)
  return quarter >= now.quarter ? now.year : now.year + 1
}
