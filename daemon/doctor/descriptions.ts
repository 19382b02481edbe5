/** Whether a description says enough for anybody to choose the memory by it. Pure. */

/** Words that could stand over any memory. */
const EMPTY = new Set(
  `a about an and any are as be been can for from general has have here how i important in info information is it its
   know known like memory memories misc miscellaneous more my need no not note notes of on or other our project related
   remember see should some something stuff that the their them then there these they thing things this to todo topic
   use useful user various want was we what when where which who will with you your`.split(/\s+/),
)
const TELLING_WORDS = 2
/** Scripts that put no space between words say in two characters what others say in a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu
const UNSPACED_PER_WORD = 2

export function isVague(description: string | undefined): boolean {
  const text = (description ?? '').normalize('NFKC').toLowerCase()
  const unspaced = text.match(UNSPACED)?.length ?? 0
  const words = text.replace(UNSPACED, ' ').match(/[\p{L}\p{N}][\p{L}\p{N}'’_.-]*/gu) ?? []
  const telling = new Set(words.filter((word) => word.length > 1 && !EMPTY.has(word)))
  return telling.size + Math.floor(unspaced / UNSPACED_PER_WORD) < TELLING_WORDS
}
