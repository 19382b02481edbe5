/** JSON with comments and trailing commas as a tree with places, so that one place of a text can be changed alone. Pure. */

export type Member = { key: string; start: number; value: Node }
export type Node = { start: number; end: number } & (
  | { kind: 'object'; members: Member[] }
  | { kind: 'array'; items: Node[] }
  | { kind: 'scalar'; value: unknown }
)

export class JsoncError extends Error {
  readonly line: number
  readonly column: number
  constructor(what: string, text: string, at: number) {
    const before = text.slice(0, at).split('\n')
    super(what)
    this.line = before.length
    this.column = (before.at(-1)?.length ?? 0) + 1
  }
}

const DEEPEST = 100
const BLANK = /[ \t\r\n]/
const WORD = /[^\s,[\]{}:"/]*/y

export function skipBlank(text: string, from: number): number {
  let at = from
  for (;;) {
    while (at < text.length && BLANK.test(text[at] as string)) at++
    if (text.startsWith('//', at)) {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    } else if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2)
      if (end < 0) throw new JsoncError('a comment has no end', text, at)
      at = end + 2
    } else return at
  }
}

export function parseJsonc(text: string): Node {
  let at = 0
  const fail = (what: string, place = at): never => {
    throw new JsoncError(what, text, place)
  }
  const blank = () => {
    at = skipBlank(text, at)
  }

  const string = (): string => {
    const start = at
    if (text[at] !== '"') fail('expected a name in double quotes')
    for (at++; text[at] !== '"'; at++) {
      if (at >= text.length || text[at] === '\n') fail('a text has no end')
      if (text[at] === '\\') at++
    }
    at++
    try {
      return JSON.parse(text.slice(start, at)) as string
    } catch {
      return fail('this text is no JSON', start)
    }
  }

  const scalar = (): unknown => {
    if (text[at] === '"') return string()
    WORD.lastIndex = at
    const word = WORD.exec(text)?.[0] ?? ''
    if (word === '') fail('expected a value')
    try {
      const value = JSON.parse(word) as unknown
      at += word.length
      return value
    } catch {
      return fail(`${JSON.stringify(word.slice(0, 20))} is no value`)
    }
  }

  const listed = (close: string, one: () => void): void => {
    at++
    for (blank(); text[at] !== close; blank()) {
      one()
      blank()
      if (text[at] === ',') at++
      else if (text[at] !== close) fail(`expected a comma or ${close}`)
    }
    at++
  }

  const value = (depth: number): Node => {
    if (depth > DEEPEST) fail('this is too deep')
    const start = at
    if (text[at] === '{') {
      const members: Member[] = []
      listed('}', () => {
        const from = at
        const key = string()
        // Only the two levels we edit must have unique keys.
        if (depth <= 1 && members.some((member) => member.key === key))
          fail(`${JSON.stringify(key)} stands there twice`)
        blank()
        if (text[at] !== ':') fail('expected a colon')
        at++
        blank()
        members.push({ key, start: from, value: value(depth + 1) })
      })
      return { kind: 'object', start, end: at, members }
    }
    if (text[at] === '[') {
      const items: Node[] = []
      listed(']', () => items.push(value(depth + 1)))
      return { kind: 'array', start, end: at, items }
    }
    return { kind: 'scalar', start, value: scalar(), end: at }
  }

  blank()
  const root = value(0)
  blank()
  if (at < text.length) fail('nothing was expected after the end')
  return root
}

export function plain(node: Node): unknown {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'array') return node.items.map(plain)
  return Object.fromEntries(node.members.map(({ key, value }) => [key, plain(value)]))
}

export function memberOf(node: Node, key: string): Member | undefined {
  return node.kind === 'object' ? node.members.find((member) => member.key === key) : undefined
}
