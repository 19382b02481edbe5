/**
 * A person's own template and instructions for notes, read anew for every update. What cannot be used is said and left
 * aside: notes are then made as if it was not there.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { message } from '../platform/files.ts'
import { DEFAULT_TEMPLATE, parseTemplate, type Template } from './template.ts'

export type Custom = { template: Template; prompt: string | undefined; troubles: string[] }

const FOLDER = join('session-memory', 'config')
/** Half of what notes may be: the rest is for what they say. */
const CAP_TEMPLATE_BYTES = 24_000
const CAP_PROMPT_BYTES = 64_000

export function readCustom(claudeDir: string): Custom {
  const templateFile = join(claudeDir, FOLDER, 'template.md')
  const promptFile = join(claudeDir, FOLDER, 'prompt.md')
  const troubles: string[] = []
  const given = readText(templateFile, CAP_TEMPLATE_BYTES)
  const asked = readText(promptFile, CAP_PROMPT_BYTES)
  if ('trouble' in given) troubles.push(`${templateFile} ${given.trouble}`)
  if ('trouble' in asked) troubles.push(`${promptFile} ${asked.trouble}`)
  const parsed = 'text' in given ? parseTemplate(given.text) : undefined
  if (parsed && 'unusable' in parsed) troubles.push(`${templateFile} cannot be used: ${parsed.unusable}`)
  if ('text' in asked && asked.text.trim() === '') troubles.push(`${promptFile} is empty`)
  return {
    template: parsed && 'template' in parsed ? parsed.template : DEFAULT_TEMPLATE,
    prompt: 'text' in asked && asked.text.trim() !== '' ? asked.text : undefined,
    troubles,
  }
}

type Text = { text: string } | { trouble: string } | { none: true }

function readText(path: string, capBytes: number): Text {
  let fd: number
  try {
    // Without waiting: a pipe that nobody writes to would be waited for without end.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? { none: true } : { trouble: `cannot be read: ${message(error)}` }
  }
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { trouble: 'is not a file' }
    if (stats.size > capBytes) return { trouble: `is ${stats.size} bytes long, and at most ${capBytes} can be used` }
    const bytes = readFileSync(fd)
    const text = bytes.toString('utf8')
    return Buffer.from(text).equals(bytes) && !text.includes('\0') ? { text } : { trouble: 'is not text in UTF-8' }
  } catch (error) {
    return { trouble: `cannot be read: ${message(error)}` }
  } finally {
    closeSync(fd)
  }
}
