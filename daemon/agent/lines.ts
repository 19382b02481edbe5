/** Lines of a text without a list of them all: a file of nothing but newlines would fill memory with it. Pure. */

/** As an editor counts them: one more than there are newlines. */
export function countNewlines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

/** `count` lines from the one after `skipped`, without the newline that ends them. */
export function someLines(text: string, skipped: number, count: number): string {
  const start = afterLines(text, 0, skipped)
  return start > text.length ? '' : text.slice(start, afterLines(text, start, count) - 1)
}

/** With the newline that ends them, whether the text has it or not. */
export function firstLines(text: string, count: number): string {
  return ended(text.slice(0, afterLines(text, 0, count)))
}

export function lastLines(text: string, count: number): string {
  if (count === 0) return ''
  let start = text.endsWith('\n') ? text.length - 1 : text.length
  for (let left = count; left > 0 && start >= 0; left--) start = start === 0 ? -1 : text.lastIndexOf('\n', start - 1)
  return ended(text.slice(start + 1))
}

/** With their numbers, until there is more than anybody is shown. */
export function numberedLines(text: string, capChars: number): string {
  let told = ''
  let number = 1
  for (let at = 0; at < text.length && told.length <= capChars; number++) {
    const end = afterLines(text, at, 1)
    told += `${number}\t${ended(text.slice(at, end))}`
    at = end
  }
  return told
}

export function countWords(text: string): number {
  let count = 0
  const word = /\S+/g
  while (word.test(text)) count++
  return count
}

export function countCharacters(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  return count
}

/** Where the line after so many begins; one past the end and its missing newline where there are no more. */
function afterLines(text: string, from: number, count: number): number {
  let at = from
  for (let left = count; left > 0; left--) {
    const end = text.indexOf('\n', at)
    if (end < 0) return text.length + 1
    at = end + 1
  }
  return at
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
