/** Credentials out of what is kept. A name with one in it is kept as a hash: two of them must not become the same. */
import { hash } from 'node:crypto'

/** At once where that can be: to wait for each of a hundred thousand names and texts takes longer than to look at them. */
export type Soon<T> = T | Promise<T>

export type Redact = (text: string) => Soon<{ text: string }>

export function clean(text: string, redact: Redact): Soon<string> {
  return text === '' ? '' : whenever(redact(text), (redacted) => redacted.text)
}

export function whenever<A, B>(answer: Soon<A>, then: (answer: A) => B): Soon<B> {
  return answer instanceof Promise ? answer.then(then) : then(answer)
}

/** Names that cannot hold one are the rule, and to look at each would cost more than all the rest. */
const HARMLESS = new RegExp(
  `^(?:${[
    '(?:[a-z]{1,12}[_-])?[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}',
    '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}[.-][\\da-z]{1,4}',
    '[\\w.-]{1,11}',
    '[\\da-f]{12,64}',
    '(?:msg|req|resp|call|toolu|item|fc|rs)_[A-Za-z0-9]{8,48}',
  ].join('|')})$`,
)

export function isHarmless(name: string): boolean {
  return name === '' || HARMLESS.test(name)
}

export function cleanName(name: string, redact: Redact): Soon<string> {
  if (isHarmless(name)) return name
  return whenever(redact(name), ({ text }) => (text === name ? name : hash('sha256', name, 'hex')))
}

/** Each name in it by itself as well: beside a slash not every credential is recognised. */
export async function pathHasSecret(path: string, redact: Redact): Promise<boolean> {
  const views = [path, path.split('/').join('\n')]
  for (const view of views) if ((await redact(view)).text !== view) return true
  return false
}
