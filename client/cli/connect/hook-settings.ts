/** Our hooks in the settings of a harness, `hooks.<event>[].hooks[].command`: put in, found, taken out. All else stays byte for byte. */
import { spawnSync } from 'node:child_process'
import { isDeepStrictEqual } from 'node:util'
import { HOOK_MARK } from '../../../schema/hook.ts'
import type { Environment } from '../../../schema/rendezvous.ts'
import { memberOf, type Node, parseJsonc, plain } from './jsonc.ts'
import { commentsIn, insertLast, type Piece, removeChild, shifted, withoutPieces, withPieces } from './pieces.ts'

export type Events = Record<string, { hooks: { command: string }[] }>
type ObjectNode = Node & { kind: 'object' }
type Added = { before: string; pieces: readonly Piece[] }

const NEW = '{}\n'

const SCRIPT = `${HOOK_MARK}.sh`
const orNew = (text: string) => (text.trim() === '' ? NEW : text)

/** Exactly the form of ours: users' own scripts may mention the hook. */
const OURS = new RegExp(
  String.raw`^(?:timeout 0\.45 )?sh '(?:[^']|'\\'')*/${HOOK_MARK}\.sh' [a-z-]+ '(?:[^']|'\\'')*' 2>/dev/null \|\| :$`,
)

export class Misshapen extends Error {}

export function addHooks(before: string, events: Events): { text: string; pieces: Piece[] } {
  let text = orNew(before)
  let pieces: Piece[] = []
  const add = (container: Node, value: unknown, key?: string) => {
    const inserted = insertLast(text, container, value, key)
    text = inserted.text
    // In the order of their places, so that they can be put in again.
    pieces = [...shifted(pieces, inserted.pieces), ...inserted.pieces].sort((a, b) => a.at - b.at)
  }
  const root = rootOf(text)
  if (!memberOf(root, 'hooks')) {
    add(root, Object.fromEntries(Object.entries(events).map(([event, group]) => [event, [group]])), 'hooks')
    return { text, pieces }
  }
  for (const [event, group] of Object.entries(events)) {
    const hooks = hooksOf(rootOf(text)) as Node
    const there = memberOf(hooks, event)?.value
    if (there && there.kind !== 'array') throw new Misshapen(`hooks.${event} is no list`)
    if (there) add(there, group)
    else add(hooks, [group], event)
  }
  return { text, pieces }
}

/** Some editors put a byte order mark first. */
export function splitMark(text: string): [mark: string, settings: string] {
  return text.startsWith('\ufeff') ? ['\ufeff', text.slice(1)] : ['', text]
}

export function addedAgain(before: string, pieces: readonly Piece[]): string {
  const [mark, settings] = splitMark(before)
  return mark + withPieces(orNew(settings), pieces)
}

export function hasHooks(text: string): boolean {
  return oursIn(rootOf(orNew(text))).length > 0
}

export function commandsOf(text: string): string[] {
  try {
    return oursIn(rootOf(splitMark(text)[1])).map(({ command }) => command)
  } catch {
    return []
  }
}

/** `added`: what `addHooks` did. Without it, a list that is empty after us is taken for ours. */
export function removeHooks(text: string, added?: Added): string {
  const wanted = removeByShape(text, added?.before)
  return (added && removeByPlace(text, added, wanted)) ?? wanted
}

/** Takes the pieces out as they went in, if that leaves the settings that are wanted. */
function removeByPlace(text: string, { before, pieces }: Added, wanted: string): string | undefined {
  const left = withoutPieces(text, withPieces(orNew(before), pieces), pieces, SCRIPT)
  if (left === undefined) return undefined
  // After the removal, a comment may have merged with the one before it.
  if (commentsIn(left).length !== commentsIn(text).length) return undefined
  try {
    return isDeepStrictEqual(plain(rootOf(left)), plain(rootOf(wanted))) ? left : undefined
  } catch {
    return undefined
  }
}

function removeByShape(given: string, before: string | undefined): string {
  const had = before === undefined ? undefined : plain(rootOf(orNew(before)))
  let text = given
  for (;;) {
    const root = rootOf(text)
    // The last one first, as they came in.
    const ours = oursIn(root).at(-1)
    if (!ours) return text
    const { hooks, event, groups, group, inner, hook } = ours
    if (inner.items.length > 1) text = removeChild(text, inner, hook)
    else if (groups.items.length > 1 || keeps(had, ['hooks', event])) text = removeChild(text, groups, group)
    else if (hooks.members.length > 1 || keeps(had, ['hooks'])) text = removeMember(text, hooks, event)
    else text = removeMember(text, root, 'hooks')
  }
}

function removeMember(text: string, container: ObjectNode, key: string): string {
  const index = container.members.findIndex((member) => member.key === key)
  return removeChild(text, container, index)
}

function keeps(had: unknown, path: readonly string[]): boolean {
  let value = had
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = (value as Record<string, unknown>)[key]
  }
  return true
}

function rootOf(text: string): ObjectNode {
  const root = parseJsonc(text)
  if (root.kind !== 'object') throw new Misshapen('the settings are no object')
  return root
}

function hooksOf(root: Node): ObjectNode | undefined {
  const hooks = memberOf(root, 'hooks')?.value
  if (hooks && hooks.kind !== 'object') throw new Misshapen('hooks is no object')
  return hooks
}

function oursIn(root: Node) {
  const hooks = hooksOf(root)
  if (!hooks) return []
  return hooks.members.flatMap(({ key: event, value: groups }) => {
    if (groups.kind !== 'array') return []
    return groups.items.flatMap((each, group) => {
      const inner = memberOf(each, 'hooks')?.value
      if (inner?.kind !== 'array') return []
      return inner.items.flatMap((item, hook) => {
        const command = memberOf(item, 'command')?.value
        if (command?.kind !== 'scalar' || typeof command.value !== 'string') return []
        return OURS.test(command.value) ? [{ hooks, event, groups, group, inner, hook, command: command.value }] : []
      })
    })
  })
}

const PATIENCE_MS = 5_000
/** Longer than the deadline that curl is given, and less than half a second. */
const BOUND = ['timeout', '0.45'] as const

/** What stands before the command where curl is older than 7.87, which waits for standard input beyond its deadline. */
export function boundFor(env: Environment): string {
  const run = ([program, ...args]: readonly [string, ...string[]]) =>
    spawnSync(program, args, { env: env as NodeJS.ProcessEnv, encoding: 'utf8', timeout: PATIENCE_MS })
  const [, major, minor] = /^curl (\d+)\.(\d+)/.exec(run(['curl', '--version']).stdout ?? '') ?? []
  // Without curl it is node, which does.
  if (major === undefined || Number(major) > 7 || (major === '7' && Number(minor) >= 87)) return ''
  // Some know whole seconds only.
  return run([...BOUND, 'true']).status === 0 ? `${BOUND.join(' ')} ` : ''
}
