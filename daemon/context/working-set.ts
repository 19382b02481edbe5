/** What a compaction would lose and the work needs, such as files being read. Never reads more than it may tell. */
import { existsSync } from 'node:fs'
import { basename, isAbsolute } from 'node:path'
import type { Compacted, Restore } from '../../schema/context.ts'
import type { Core } from '../core.ts'
import { readHead } from '../platform/files.ts'
import { headOfBytes, textTokens } from '../platform/text.ts'
import { privateFolder } from '../projects/paths.ts'
import { isFailure, openTodos } from './extractive.ts'
import { blocksIn, type Message, recordOf, resultIdOf, toolUsesOf } from './messages.ts'
import { restoredText } from './summary.ts'

export type WorkingSet = { blocks: string[]; items: Compacted['restored'] }

type Lost = { restore: Restore; between: readonly Message[]; kept: readonly Message[]; roomTokens: number }

const FILES = { count: 5, tokensEach: 5_000, tokens: 50_000 }
const SKILLS = { tokensEach: 5_000, tokens: 25_000 }
const SHORT_TOKENS = 5_000
const CAP_READ_BYTES = 4 * FILES.tokensEach
const INSTRUCTIONS = /^(?:CLAUDE(?:\.local)?|AGENTS|GEMINI|MEMORY)\.md$/i

/** Not files: what is read there is this process, or the machine. */
const MACHINE = ['/proc', '/sys', '/dev']

export function readWorkingSet({ stateDir, settings }: Core, { restore, between, kept, roomTokens }: Lost): WorkingSet {
  const found: WorkingSet = { blocks: [], items: [] }
  const { roots, private: closed, model } = settings.current()
  const ours = [stateDir, ...Object.values(roots).flat(), ...(model.apiKeyFile === null ? [] : [model.apiKeyFile])]
  const isClosed = (path: string) => privateFolder([...MACHINE, ...ours, ...closed], [path]) !== undefined
  let room = roomTokens
  const add = (kind: Compacted['restored'][number]['kind'], name: string, text: string, capTokens: number) => {
    const label = `${LABELS[kind](name)}\n`
    const cut = cutTo(text, Math.max(0, capTokens - textTokens(restoredText(label))))
    const block = restoredText(label + cut)
    const tokens = textTokens(block)
    if (text.trim() === '' || tokens > Math.min(room, capTokens)) return 0
    room -= tokens
    found.blocks.push(block)
    found.items.push({ kind, name, tokens })
    return tokens
  }
  const todos = openTodos(restore.todos ?? [])
  add('todos', 'to-dos', todos.map((todo) => `- ${todo}`).join('\n'), SHORT_TOKENS)
  // Whether a file is closed takes a dozen calls to the disk, and most files of an old conversation are gone.
  const mayRead = (path: string) => isAbsolute(path) && existsSync(path) && !isClosed(path)
  const readOpen = (path: string) => (mayRead(path) ? readNow(path) : undefined)
  const plan = typeof restore.plan === 'string' ? { path: undefined, content: restore.plan } : restore.plan
  add('plan', plan?.path ?? 'plan', plan?.content ?? readOpen(plan?.path ?? '') ?? '', SHORT_TOKENS)
  add('tasks', 'tasks', (restore.tasks ?? []).map(taskLine).join('\n'), SHORT_TOKENS)
  for (const [n, text] of (restore.sticky ?? []).entries()) add('sticky', `sticky ${n + 1}`, text, SHORT_TOKENS)
  const files = { count: 0, tokens: 0 }
  for (const path of filesToRead(restore, between, kept, plan?.path)) {
    if (files.count >= FILES.count || files.tokens >= FILES.tokens) break
    const capTokens = Math.min(FILES.tokensEach, FILES.tokens - files.tokens)
    const tokens = add('file', path, readOpen(path) ?? '', capTokens)
    files.count += tokens > 0 ? 1 : 0
    files.tokens += tokens
  }
  let skills = 0
  for (const { name, content } of restore.skills ?? []) {
    if (skills >= SKILLS.tokens) break
    skills += add('skill', name, content, Math.min(SKILLS.tokensEach, SKILLS.tokens - skills))
  }
  return found
}

const LABELS: Record<Compacted['restored'][number]['kind'], (name: string) => string> = {
  todos: () => 'Still to do:',
  plan: (name) => `The plan (${name}):`,
  tasks: () => 'Running in the background:',
  sticky: () => '',
  file: (name) => `The file ${name} as it is now:`,
  skill: (name) => `The skill ${name} was invoked:`,
}

/** Newest first, each once; not what stayed anyway, and not what is loaded by itself. */
function filesToRead(
  { files }: Restore,
  between: readonly Message[],
  kept: readonly Message[],
  plan: string | undefined,
): string[] {
  // A file whose reading was refused is not read here either.
  const readIn = (messages: readonly Message[]) => {
    const came = new Set(blocksIn(messages).flatMap((block) => (isFailure(block) ? [] : (resultIdOf(block) ?? []))))
    return [...toolUsesOf(messages).values()].flatMap(({ id, name, input }) =>
      ['Read', 'Edit', 'Write'].includes(name) && typeof input.file_path === 'string' && came.has(id)
        ? [input.file_path]
        : [],
    )
  }
  const there = new Set(readIn(kept))
  const wanted = files ?? readIn(between).toReversed()
  return [...new Set(wanted)].filter(
    (path) =>
      isAbsolute(path) &&
      !there.has(path) &&
      path !== plan &&
      !INSTRUCTIONS.test(basename(path)) &&
      !path.includes('/.claude/rules/') &&
      !path.endsWith('.jsonl'),
  )
}

function readNow(path: string): string | undefined {
  const text = readHead(path, CAP_READ_BYTES + 4)
    ?.head.toString()
    .replace(/\ufffd+$/, '')
  return text?.includes('\0') || text?.includes('\ufffd') ? undefined : text
}

function cutTo(text: string, tokens: number): string {
  const bytes = Math.floor(tokens * 3.5)
  if (textTokens(text) <= tokens && text.length <= 4 * tokens) return text
  const part = headOfBytes(text, bytes)
  const end = part.lastIndexOf('\n')
  return `${end > 0 ? part.slice(0, end) : part}\n(cut here; read the rest where it is)`
}

function taskLine(task: string | Record<string, unknown>): string {
  if (typeof task === 'string') return `- ${task}`
  const { id, name, description, status } = recordOf(task)
  const words = [id, name, description, status].filter((part) => typeof part === 'string' && part !== '')
  return `- ${words.length > 0 ? words.join(': ') : JSON.stringify(task)}`
}
