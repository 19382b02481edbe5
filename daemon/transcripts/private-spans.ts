/** What people marked as private never leaves an adapter: everything that stores or sends text goes through here. Pure. */
import { markedSpans, replaced, without } from './spans.ts'

/**
 * An opening mark needs no end: all that follows it is private anyway, its own attributes included. White space may be written as
 * in JSON, which the input of most tools is by then.
 */
const PRIVATE = /<(?:\s|\\[nrt]){0,8}(\/?)(?:\s|\\[nrt]){0,8}(private)(?:(?:\s|\\[nrt]){0,8}>|(?=[\s/\\])|$)/iy

/** Without `<private>…</private>`; one that nobody closed reaches to the end. */
export function withoutPrivate(text: string): string {
  if (!text.includes('<')) return text
  const { closed, unclosed } = markedSpans(text, PRIVATE)
  return without(text, [...closed, ...unclosed.map(({ start }) => ({ start, end: text.length }))])
}

/** Whether all that comes after it is private, too. */
export function isPrivateToTheEnd(text: string): boolean {
  return text.includes('<') && markedSpans(text, PRIVATE).unclosed.length > 0
}

/**
 * For what a tool printed and an agent may want back: says where something is left out, and a mark that nobody closed hides
 * nothing. There it is mostly a word about the mark, or code, and everything after it would be lost.
 */
export function withPrivateHidden(text: string): string {
  return text.includes('<') ? replaced(text, markedSpans(text, PRIVATE).closed, '[private]') : text
}
