/** What an agent is doing, as a line of three to five words in the present tense. Pure. */

/** What a model is told of a message, and what a line is made of without one. */
export type Doing = {
  by: string
  text: string
  toolCalls: readonly { name: string; input: string }[]
}

const LONGEST = 80
const LONGEST_NAME = 40

/** What a model said, if it is such a line: it is shown to people as it is. */
export function asStatusLine(said: string): string | undefined {
  const line = said
    .trim()
    .replace(/^["'“‘`*]+|["'”’`*.…!]+$/gu, '')
    .trim()
  if (line.length > LONGEST || /[\p{C}\p{Zl}\p{Zp}<>]/u.test(line)) return undefined
  const words = line.split(/\s+/u)
  return words.length >= 3 && words.length <= 5 ? words.join(' ') : undefined
}

/** By the last tool that was called, newest message first; nothing where none was. */
export function statusFrom(doings: readonly Doing[]): string | undefined {
  for (const { by, toolCalls } of doings) {
    const call = by === 'agent' ? toolCalls.at(-1) : undefined
    if (call) return describe(call.name, call.input)
  }
  return undefined
}

const SHELL = /^(?:local_)?shell(?:_command)?$|bash|powershell|exec_command|run_shell/
/** The first that fits. With a file where the call names one. */
const DEEDS: readonly (readonly [RegExp, string, string])[] = [
  [/web|fetch|google|browse/, 'Looking something up online', 'Looking something up online'],
  [/todo|plan/, 'Planning the next steps', 'Planning the next steps'],
  [/^(?:task|agent)|agent$/, 'Waiting for a sub-agent', 'Waiting for a sub-agent'],
  [/grep|search|glob|find|^ls$|^list/, 'Searching through the files', 'Searching through the files'],
  [/edit|patch|replace/, 'Editing the file', 'Editing the files'],
  [/write|create/, 'Writing the file', 'Writing a new file'],
  [/read|view|open|cat\b/, 'Reading the file', 'Reading the files'],
]

function describe(tool: string, input: string): string {
  // Tools of other servers come as mcp__server__tool.
  const name = (tool.split('__').at(-1) ?? tool).toLowerCase()
  if (SHELL.test(name)) return running(input)
  const [, withFile, without] = DEEDS.find(([pattern]) => pattern.test(name)) ?? []
  if (withFile === undefined || without === undefined) return `Using the tool ${word(name)}`
  const file = withFile.endsWith('the file') ? fileIn(input) : undefined
  return file === undefined ? without : `${withFile} ${word(file)}`
}

/** A command and what it is told first, if that is a word: what follows may be anything. */
function running(input: string): string {
  const command = input
    .replace(/^(?:\S*\/)?(?:ba|z|da)?sh\s+-\w*c\s+/, '')
    .replace(/^(?:cd\s+\S+\s*(?:&&|;)\s*|sudo\s+|\w+=\S*\s+)+/, '')
  const [program = '', first = ''] = command.split(/\s+/)
  const named = word(program.split('/').at(-1) ?? '')
  return /^[A-Za-z][\w:-]{0,30}$/.test(first) ? `Running ${named} ${first}` : `Running the command ${named}`
}

const FILE_FIELDS = ['file_path', 'path', 'filePath', 'notebook_path', 'absolute_path', 'file']

function fileIn(input: string): string | undefined {
  const patched = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/m.exec(input)?.[1]
  const path = patched ?? FILE_FIELDS.map((field) => fieldsOf(input)[field]).find((value) => typeof value === 'string')
  return typeof path === 'string' ? path.split('/').findLast((part) => part !== '') : undefined
}

function fieldsOf(input: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(input)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** One word, whatever somebody called a file. */
function word(text: string): string {
  const plain = text.replace(/[^\p{L}\p{N}\p{M}._@:+-]+/gu, '_').slice(0, LONGEST_NAME)
  return plain === '' ? '_' : plain
}
