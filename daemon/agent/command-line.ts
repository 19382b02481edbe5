/** Parses the one command that a model may run: reading ones, with those options that only shape what is shown. */
import { parseArgs } from 'node:util'
import { type Denied, quoted } from './tools.ts'

const NAMES = ['ls', 'find', 'cat', 'stat', 'wc', 'head', 'tail', 'grep'] as const
type CommandName = (typeof NAMES)[number]

export type Command = {
  name: CommandName
  options: ReadonlyMap<string, string>
  pattern: string | undefined
  paths: string[]
}

type Options = { flags: string; valued: readonly string[]; long?: readonly string[] }

const OPTIONS: Record<Exclude<CommandName, 'find'>, Options> = {
  ls: { flags: 'laA1htrRSdF', valued: [] },
  cat: { flags: 'n', valued: [] },
  stat: { flags: '', valued: [] },
  wc: { flags: 'lwcm', valued: [] },
  head: { flags: '', valued: ['n'] },
  tail: { flags: '', valued: ['n'] },
  grep: { flags: 'inrREFGvwclhHs', valued: ['e', 'm'], long: ['include'] },
}
const FIND = ['name', 'iname', 'path', 'type', 'maxdepth', 'mindepth', 'mtime']

export function parseCommand(line: string): Command | Denied {
  const words = parseWords(line)
  if ('denied' in words) return words
  const [first, ...rest] = words as [Word, ...Word[]]
  const name = NAMES.find((each) => each === first.text)
  if (!name) return { denied: `${quoted(first.text)} is not available; there are only ${NAMES.join(' ')}` }
  return name === 'find' ? parseFind(rest) : parseUsual(name, rest)
}

function parseUsual(name: Exclude<CommandName, 'find'>, words: readonly Word[]): Command | Denied {
  const { flags, valued, long = [] } = OPTIONS[name]
  const options = new Map<string, string>()
  const operands: Word[] = []
  const args = words.map(({ text }) => (valued.includes('n') && /^-\d+$/.test(text) ? `-n${text.slice(1)}` : text))
  const known = Object.fromEntries([
    ...[...flags].map((letter) => [letter, { type: 'boolean', short: letter }] as const),
    ...valued.map((letter) => [letter, { type: 'string', short: letter }] as const),
    ...long.map((word) => [word, { type: 'string' }] as const),
  ])
  for (const token of parseArgs({ args, options: known, strict: false, tokens: true }).tokens) {
    if (token.kind === 'positional') operands.push(words[token.index] as Word)
    if (token.kind !== 'option') continue
    const { name: key, rawName, value, inlineValue } = token
    const isKnown = rawName.startsWith('--') ? long.includes(key) && inlineValue : key in known && key.length === 1
    if (!isKnown)
      return { denied: `${name} has no option ${quoted(rawName)} here; there are ${allowed(OPTIONS[name])}` }
    if (valued.includes(key) && value === undefined) return { denied: `option -${key} of ${name} needs a value` }
    options.set(key, value ?? '')
  }
  for (const key of ['n', 'm']) {
    const count = options.get(key)
    if (valued.includes(key) && count !== undefined && !/^\d{1,6}$/.test(count))
      return { denied: `option -${key} of ${name} takes a plain number, not ${quoted(count)}` }
  }
  const pattern = options.get('e') ?? (name === 'grep' ? operands.shift()?.text : undefined)
  if (name === 'grep' && !pattern) return { denied: 'grep needs a pattern' }
  if (pattern !== undefined && pattern.length > 1_000) return { denied: 'the pattern is longer than 1,000 characters' }
  return withPaths({ name, options, pattern }, operands)
}

function parseFind(words: readonly Word[]): Command | Denied {
  const options = new Map<string, string>()
  const operands: Word[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Word
    if (!word.text.startsWith('-')) {
      if (options.size > 0) return { denied: `find takes its folders first; ${quoted(word.text)} came after a test` }
      operands.push(word)
      continue
    }
    const key = word.text.slice(1)
    if (key === 'print') continue
    if (!FIND.includes(key))
      return { denied: `find has no ${quoted(word.text)} here; there are -${FIND.join(' -')} -print` }
    const value = words[++at]?.text
    if (value === undefined) return { denied: `find needs a value after -${key}` }
    if (key.endsWith('depth') && !/^\d{1,3}$/.test(value)) return { denied: `-${key} takes a plain number` }
    if (key === 'type' && !/^[fd]$/.test(value)) return { denied: '-type is f or d here' }
    if (key === 'mtime' && !/^[+-]?\d{1,6}$/.test(value)) return { denied: '-mtime takes a number of days' }
    options.set(key, value)
  }
  return withPaths({ name: 'find', options, pattern: undefined }, operands)
}

function withPaths(command: Omit<Command, 'paths'>, operands: readonly Word[]): Command | Denied {
  const open = operands.find((word) => word.open)
  if (open) return { denied: `${quoted(open.text)} is not expanded here; name the files, or find them with Glob` }
  if (operands.some(({ text }) => text === '-')) return { denied: 'there is no standard input; name a file' }
  if (operands.length > 100) return { denied: 'more than 100 paths; name fewer' }
  const paths = operands.map(({ text }) => text)
  const folderWise = ['ls', 'find'].includes(command.name) || (command.name === 'grep' && isRecursive(command))
  if (paths.length === 0 && !folderWise) return { denied: `${command.name} needs a file; there is no standard input` }
  return { ...command, paths: paths.length > 0 ? paths : ['.'] }
}

export function isRecursive({ options }: Pick<Command, 'options'>): boolean {
  return options.has('r') || options.has('R')
}

function allowed({ flags, valued, long = [] }: Options): string {
  const all = [...flags, ...valued].map((letter) => `-${letter}`)
  return [...all, ...long.map((name) => `--${name}=…`)].join(' ') || 'none'
}

/** `open`: holds a character that a shell would expand; it stands for itself here. */
type Word = { text: string; open: boolean }

const WHY: Record<string, string> = {
  '|': 'pipes are not available; one command at a time',
  '&': 'commands cannot be joined or sent to the background; one command at a time',
  ';': 'commands cannot be joined; one command at a time',
  '<': 'redirections are not available',
  '>': 'redirections are not available',
  '(': 'subshells are not available',
  ')': 'subshells are not available',
  $: 'variables and substitutions are not available; write the value itself',
  '`': 'substitutions are not available; write the value itself',
  '\n': 'one command on one line',
  '\r': 'one command on one line',
}

/** As a shell would; everything that needs a shell is denied: nothing is expanded, joined, redirected or run. */
function parseWords(command: string): Word[] | Denied {
  const words: Word[] = []
  let word: Word | undefined
  const add = (text: string) => {
    word = { text: (word?.text ?? '') + text, open: word?.open ?? false }
  }
  const end = () => {
    if (word) words.push(word)
    word = undefined
  }
  for (let at = 0; at < command.length; at++) {
    const char = command[at] as string
    const why = WHY[char]
    if (why) return { denied: why }
    if (char < ' ' && char !== '\t') return { denied: 'the command holds a control character' }
    if (char === ' ' || char === '\t') end()
    else if (char === "'") {
      const close = command.indexOf("'", at + 1)
      if (close < 0) return { denied: 'a quote is not closed' }
      const inside = command.slice(at + 1, close)
      if (hasControl(inside)) return { denied: 'the command holds a control character' }
      add(inside)
      at = close
    } else if (char === '"') {
      const inside = doubleQuoted(command, at + 1)
      if ('denied' in inside) return inside
      add(inside.text)
      at = inside.close
    } else if (char === '\\') {
      const next = command[++at]
      if (next === undefined || hasControl(next))
        return { denied: 'a backslash at the end of a line means nothing here' }
      add(next)
    } else if (char === '#' && !word) return { denied: 'comments are not available' }
    else {
      add(char)
      if (word && /[*?[\]{}!]/.test(char)) word.open = true
      if (char === '~' && word?.text === '~') return { denied: '~ means nothing here; name the whole path' }
    }
  }
  end()
  return words.length > 0 ? words : { denied: `${quoted(command)} is no command` }
}

function doubleQuoted(command: string, from: number): { text: string; close: number } | Denied {
  let text = ''
  for (let at = from; at < command.length; at++) {
    const char = command[at] as string
    if (char === '"') return { text, close: at }
    if (char === '$' || char === '`') return { denied: WHY[char] as string }
    if (hasControl(char)) return { denied: 'the command holds a control character' }
    if (char === '\\' && /["\\$`]/.test(command[at + 1] ?? '')) text += command[++at]
    else text += char
  }
  return { denied: 'a quote is not closed' }
}

function hasControl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\x00-\x08\x0a-\x1f\x7f]/.test(text)
}
