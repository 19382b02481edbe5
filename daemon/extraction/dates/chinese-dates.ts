/** Relative dates in Chinese. Longer forms stand before those they contain. */
import type { Form } from './date-form.ts'
import * as calendar from './date-form.ts'

const WEEK = '(?:周|星期|礼拜)'
const DAY = '([一二三四五六日天])'
const NUMBER = '(\\d{1,3}|[一二两三四五六七八九十]{1,3}|半)'
const MONTH = '(\\d{1,2}|[一二三四五六七八九十]{1,2}) ?月'
const DAY_OF_MONTH = '(\\d{1,2}|[一二三十][一二三四五六七八九十]{0,2}) ?[号日]'
const UNIT = '(个?工作日|天|周|个?星期|个?礼拜|个?月|年)'
/** 前年 and 后年, but not the end of 以前 and 以后. */
const YEAR = '((?<![以之然今])后|(?<![以之年月天周日])前|今|明|去)年'

const form = (source: string, says: Form['says']): Form => ({ pattern: new RegExp(source, 'g'), says })
const weekdayOf = (word = '') => '一二三四五六日'.indexOf(word === '天' ? '日' : word)
const yearOf = (which = '', today: number) =>
  calendar.partsOf(today).year + ({ 明: 1, 去: -1, 后: 2, 前: -2 }[which] ?? 0)
const stepOf = (which = '') =>
  which.startsWith('下下') ? 2 : which.startsWith('下') ? 1 : which.startsWith('上') ? -1 : 0

function numberOf(word = ''): number {
  if (/^\d+$/.test(word)) return Number(word)
  const digit = (sign: string) => '零一二三四五六七八九'.indexOf(sign)
  const [tens = '', ones] = word.replaceAll('两', '二').split('十')
  if (ones === undefined) return digit(tens)
  return (tens ? digit(tens) : 1) * 10 + (ones ? digit(ones) : 0)
}

function away(count: string, unit: string, today: number, sign: 1 | -1): number {
  if (count === '半') return today + sign * (unit.includes('月') ? 15 : unit.includes('年') ? 182 : 0)
  const number = numberOf(count)
  if (unit.includes('工作日')) return today + sign * (calendar.addWorkingDays(today, number) - today)
  if (/天|日/.test(unit)) return today + sign * number
  if (/周|星期|礼拜/.test(unit)) return today + sign * number * 7
  return calendar.addMonths(today, sign * (unit.includes('年') ? number * 12 : number))
}

function edgeOf(start: number | undefined, part: string | undefined): number | undefined {
  return start === undefined || part === '初' ? start : calendar.monthEnd(start, 0)
}

export const chinese: readonly Form[] = [
  form('大后天', (_, { today }) => today + 3),
  form('大前天', (_, { today }) => today - 3),
  form('后天', (_, { today }) => today + 2),
  form('前天', (_, { today }) => today - 2),
  form('明(?:天|日|儿)|明(?=早|晚|上午|下午)', (_, { today }) => today + 1),
  form('昨(?:天|日|儿)|昨(?=晚|夜)', (_, { today }) => today - 1),
  form('(?:今天|今日|今儿)|今(?=早|晚|夜)', (_, { today }) => today),
  form(`(下下|下|上|这|本)个?${WEEK}${DAY}`, ([, which, day], { today }) =>
    calendar.inWeek(weekdayOf(day), today, stepOf(which)),
  ),
  form(`${NUMBER} ?个?${WEEK}(?:之|以)?后的?${WEEK}${DAY}`, ([, count, day], { today }) =>
    count === '半' ? undefined : calendar.inWeek(weekdayOf(day), today, numberOf(count)),
  ),
  form(`(?<![每到至、\\d一二两三四五六七八九十])${WEEK}${DAY}(?![到至、])`, ([, day], context) =>
    calendar.nearest(weekdayOf(day), context),
  ),
  form('(?:这个?|本)?周末', (_, { today }) => calendar.weekStart(today, 0) + 5),
  form(`(下下|下|上|这|本)个?${WEEK}(?!末|[一二三四五六日天])(?:初|末)?`, ([, which], { today }) => {
    const day = calendar.weekStart(today, stepOf(which))
    return { text: `${calendar.iso(day)} 那一周`, day }
  }),
  form('(?<![\\d一二三四五六七八九十] ?)(下个?|本|这个?)?月(?:底|末)', ([, which], { today }) =>
    calendar.monthEnd(today, stepOf(which)),
  ),
  form(`${MONTH} ?(底|末|初)`, ([, word, part], context) => {
    const month = numberOf(word)
    return month < 1 || month > 12 ? undefined : edgeOf(calendar.monthAlone(month, context), part)
  }),
  form(`${YEAR} ?${MONTH} ?${DAY_OF_MONTH}`, ([, which, month, day], { today }) =>
    calendar.dayIn(yearOf(which, today), numberOf(month), numberOf(day)),
  ),
  form(`${YEAR} ?${MONTH}(?:份)?([底末初])?(?! ?[\\d一二三四五六七八九十])`, ([, which, word, part], { today }) => {
    const start = calendar.dayIn(yearOf(which, today), numberOf(word), 1)
    return start !== undefined && part === undefined ? calendar.monthAway(start, 0) : edgeOf(start, part)
  }),
  form('(下个?)月初', (_, { today }) => calendar.monthStart(today, 1)),
  form('(下个?|上个?|本|这个?)月(\\d{1,2}|[一二三十][一二三四五六七八九十]{0,2})[号日]', ([, which, day], { today }) =>
    calendar.dayOfMonthAway(numberOf(day), today, stepOf(which)),
  ),
  form('(下个?|上个?|本|这个)月(?![底末初\\d])', ([, which], { today }) => calendar.monthAway(today, stepOf(which))),
  form(`(?<!\\d年)${MONTH} ?${DAY_OF_MONTH}`, ([, month, day], context) =>
    calendar.monthAndDay(numberOf(month), numberOf(day), context),
  ),
  form('(?<![\\d.月A-Za-z-] ?)(\\d{1,2}) ?号(?![线楼机房段码])', ([, day], context) =>
    calendar.dayOfMonth(Number(day), context),
  ),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?后`, ([, count = '', unit = ''], { today }) => away(count, unit, today, 1)),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?内`, ([, count = '', unit = ''], { today }) => {
    const day = away(count, unit, today, 1)
    return { text: `${calendar.iso(day)} 前`, day }
  }),
  form(`(?<!第)${NUMBER} ?${UNIT}(?:之|以)?前(?!端)`, ([, count = '', unit = ''], { today }) =>
    away(count, unit, today, -1),
  ),
  form('(?:第)?([一二三四])季度(?:末|底)|[Qq]([1-4]) ?(?:末|底|结束)', ([, word, digit], { today }) => {
    const quarter = numberOf(word ?? digit)
    return calendar.quarterEnd(calendar.yearOfQuarter(quarter, { today, past: false }), quarter)
  }),
  form('(下个?|本|这个?)?季度?(?:末|底)', ([, which], { today }) => {
    const { year, quarter } = calendar.quarterOf(today)
    return calendar.quarterEnd(year, quarter + stepOf(which))
  }),
  form('(下个?|本|这个?)季度', ([, which], { today }) => {
    const { year, quarter } = calendar.quarterOf(today)
    return calendar.quarterSpan(year, quarter + stepOf(which))
  }),
  form('第?([一二三四])季度', ([, word], { today }) => {
    const quarter = numberOf(word)
    return calendar.quarterSpan(calendar.yearOfQuarter(quarter, { today, past: false }), quarter)
  }),
  form(`${YEAR}年?(?:底|末)|年(?:底|末)`, ([, which], { today }) => calendar.quarterEnd(yearOf(which, today), 4)),
  form(YEAR, ([, which], { today }) => {
    const year = yearOf(which, today)
    return { text: `${year} 年`, day: calendar.quarterStart(year, 1) }
  }),
]
