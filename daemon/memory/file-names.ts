/**
 * Which names a memory may have: the same file on every system, readable by a person, and inside the folder. A name is
 * taken as it is or refused; it is never repaired, for a repaired name is another file than the one that was meant.
 */
import { createHash } from 'node:crypto'
import type { MemoryType } from '../../schema/values.ts'
import { shown } from '../platform/text.ts'
import { oneLine, shorten } from './pointer.ts'

export type FileName = { ok: true; file: string } | { ok: false; refused: string }

const CAP_BYTES = 512
const SEGMENT_CAP_BYTES = 200
export const CAP_SEGMENTS = 4

export const INDEX_FILE = 'MEMORY.md'
export const INDEXES: readonly string[] = [INDEX_FILE, `team/${INDEX_FILE}`]

export function isIndex(file: string): boolean {
  return INDEXES.includes(file)
}

/** The index that points to a file: the team's own for `team/x.md`, the directory's for all others. */
export function indexOf(file: string): string {
  return file.startsWith('team/') ? `team/${INDEX_FILE}` : INDEX_FILE
}

export function nameInIndex(file: string): string {
  return file.startsWith('team/') ? file.slice('team/'.length) : file
}

const READ_CAP_UNITS = 4_096
export const READ_CAP_SEGMENTS = 32

type Name = { whole: string; segments: string[]; folder: string; leaf: string }
type Rule = [words: string, isBroken: (name: Name) => boolean]

const anySegment =
  (bad: (segment: string) => boolean) =>
  ({ segments }: Name) =>
    segments.some(bad)

const has =
  (pattern: RegExp) =>
  ({ whole }: Name) =>
    pattern.test(whole)

const rules: Rule[] = [
  ['is empty', ({ whole }) => whole === ''],
  ['has half a character in it', has(/\p{Cs}/u)],
  [`is longer than ${CAP_BYTES} bytes`, ({ whole }) => Buffer.byteLength(whole) > CAP_BYTES],
  ['has a control character in it', has(/\p{Cc}/u)],
  ['has a character in it that cannot be seen', has(/[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u)],
  ['has white space in it other than plain spaces', has(/(?! )\p{Z}/u)],
  ['has a character in it that means nothing', has(/[\p{Cn}\p{Co}]/u)],
  ['is not in the Unicode form NFC', ({ whole }) => whole !== whole.normalize('NFC')],
  ['has a backslash in it; folders are parted by /', has(/\\/)],
  ['has a percent escape in it', has(/%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i)],
  ['has a character in it that looks like a dot, a slash or %', ({ whole }) => [...whole].some(imitates)],
  ['starts at the root; name it from the memory directory on', has(/^\//)],
  ['has an empty, "." or ".." part', anySegment((part) => ['', '.', '..'].includes(part))],
  ['has one of : < > " | ? * in it', has(/[:<>"|?*]/)],
  ['has a hidden part, one that starts with a dot', anySegment((part) => part.startsWith('.'))],
  ['has a part that starts with ~', anySegment((part) => part.startsWith('~'))],
  ['has a part that starts or ends with a space', anySegment((part) => part !== part.trim())],
  ['has a part that ends with a dot', anySegment((part) => part.endsWith('.'))],
  ['has a part that is the name of a device', anySegment(namesDevice)],
  [
    `has a part longer than ${SEGMENT_CAP_BYTES} bytes`,
    anySegment((part) => Buffer.byteLength(part) > SEGMENT_CAP_BYTES),
  ],
  [`is more than ${CAP_SEGMENTS} parts deep`, ({ segments }) => segments.length > CAP_SEGMENTS],
  ['does not end in .md', ({ leaf }) => !leaf.endsWith('.md')],
  ['has a folder that is named like a memory', ({ segments }) => segments.slice(0, -1).some(endsLikeOne)],
  [
    `is like the index; that is ${INDEXES.join(' or ')}, to the letter`,
    ({ whole, leaf }) => twinKey(leaf) === twinKey(INDEX_FILE) && !INDEXES.includes(whole),
  ],
  [
    'is in logs/, which is not for memories',
    ({ whole, folder }) => twinKey(folder) === twinKey('logs') && !isLog(whole),
  ],
  [
    'is in a folder that is like team/ but not it',
    ({ folder }) => folder !== 'team' && twinKey(folder) === twinKey('team'),
  ],
]

/** One plain name is never a twin of another. */
export function isPlain(name: string): boolean {
  return /^[a-z0-9_-]+\.md$/.test(name)
}

export function checkFileName(relative: string): FileName {
  // Before anything looks at every character of it.
  if (relative.length > CAP_BYTES)
    return { ok: false, refused: `the name ${shown(relative)} is longer than ${CAP_BYTES} bytes` }
  const segments = relative.split('/')
  const folder = segments.length > 1 ? (segments[0] ?? '') : ''
  const name = { whole: relative, segments, folder, leaf: segments.at(-1) ?? '' }
  const rule = rules.find(([, isBroken]) => isBroken(name))
  if (rule) return { ok: false, refused: `the name ${shown(relative)} ${rule[0]}` }
  return { ok: true, file: relative }
}

/** For reading: other programs name their files as they like. All that counts is that the name leads to a place inside. */
export function checkReadName(relative: string): { ok: true; segments: string[] } | { ok: false; refused: string } {
  const segments = relative.split('/', READ_CAP_SEGMENTS + 1)
  const isOutside =
    relative.length > READ_CAP_UNITS ||
    segments.length > READ_CAP_SEGMENTS ||
    /[\0\p{Cs}]/u.test(relative) ||
    segments.some((part) => ['', '.', '..'].includes(part))
  if (isOutside) return { ok: false, refused: `the name ${shown(relative)} leads to no place in the memory directory` }
  return { ok: true, segments }
}

export function twinAmong(name: string, entries: readonly string[]): string | undefined {
  const key = twinKey(name)
  return entries.find((entry) => entry !== name && twinKey(entry) === key)
}

export function numbered(file: string, n: number): string {
  return n === 1 ? file : file.replace(/(\.md)?$/, `_${n}$1`)
}

/** Some file systems hold names with the same key for one. Up after down: ß, ſ and final ς have no other common form. */
export function twinKey(name: string): string {
  return name.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC')
}

function endsLikeOne(part: string): boolean {
  return twinKey(part).endsWith('.MD')
}

/** Slashes that no normalisation turns into `/`, and all that NFKC turns into what parts a path. */
function imitates(character: string): boolean {
  if (character <= '\x7f') return false
  return (
    /[\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9]/.test(character) || /[./\\%]/.test(character.normalize('NFKC'))
  )
}

function namesDevice(part: string): boolean {
  const stem = twinKey(part.split('.', 1)[0] ?? '').trimEnd()
  return /^(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9]|CLOCK\$|CONIN\$|CONOUT\$)$/.test(stem)
}

const LOG = /^logs\/(\d{4})\/(\d{2})\/\1-\2-\d{2}\.md$/

export function isLog(file: string): boolean {
  return LOG.test(file)
}

/** `day`: in local time, such as 2026-03-31. */
export function logFile(day: string): string {
  const [year, month] = day.split('-')
  return `logs/${year}/${month}/${day}.md`
}

export function logLine({ type, body }: { type: MemoryType; body: string }): string {
  return `- [${type}] ${oneLine(body)}`
}

export function appended(log: string, lines: readonly string[]): string {
  const start = log === '' || log.endsWith('\n') ? log : `${log}\n`
  return `${start}${lines.map((line) => `${line}\n`).join('')}`
}

/** First match decides. Words of places come first: "always post in #deploys" is about where, yet said as a rule. */
const typeRules: readonly (readonly [MemoryType, RegExp])[] = [
  ['feedback', /\b(always|never|don'?t|do not|stop|avoid|instead of|rather than|make sure|please|must(n'?t| not)?)\b/i],
  ['feedback', /总是|永远|不要|别再|必须|请(?:用|先|不)|应该|尽量/],
  [
    'reference',
    /https?:\/\/|\b(dashboard|wiki|runbook|ticket|tracker|jira|linear|grafana|confluence|channel)\b|(^|\s)#[a-z][\w-]+/i,
  ],
  ['reference', /看板|文档在|频道|工单/],
  ['user', /\b(i am|i'?m|i work|i know|i prefer|i like|i use|my (role|job|name|team|background|editor))\b/i],
  ['user', /^我(?:是|在|喜欢|用|负责|的)/],
]

export function classify(text: string): MemoryType {
  return typeRules.find(([, pattern]) => pattern.test(text))?.[0] ?? 'project'
}

const TITLE_WORDS = 7
const TITLE_CHARS = 60
const DESCRIPTION_CHARS = 150

export type Named = { file: string; name: string; description: string }

/** A file name people can read where the text gives one, a short hash where it does not (another script, say). */
export function nameFor(text: string, type: MemoryType): Named {
  const line = oneLine(text)
  const start = line.split(' ').slice(0, TITLE_WORDS).join(' ')
  const name = shorten(start.replace(/[\s,.;:!?。，！？]+$/u, ''), TITLE_CHARS)
  const words = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 50)
  const short = createHash('sha256').update(line).digest('hex').slice(0, 8)
  return {
    file: `${type}_${words.length >= 3 ? words : short}.md`,
    name,
    description: shorten(line, DESCRIPTION_CHARS),
  }
}
