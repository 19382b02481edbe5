/** The sections of notes: those that come along, and those of a person's own template. Pure. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { message } from '../platform/files.ts'

/** `heading` and `about` are whole lines, `about` the one in italics; empty where a template has none. */
export type Section = { title: string; heading: string; about: string; body: string }
export type Template = readonly Section[]

const HEADING = /^#[ \t]+(\S.*?)[ \t]*$/
export const ITALIC = /^(?:_[^_].*_|\*[^*].*\*)$/
export const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/

/** Every line of a template goes with every use of the notes: much of it would leave no room for them. */
const CAP_SECTIONS = 40
const CAP_LINE_CHARS = 500

const section = (title: string, about: string): Section => ({
  title,
  heading: `# ${title}`,
  about: `_${about}_`,
  body: '',
})

export const DEFAULT_TEMPLATE: Template = [
  section('Session Title', 'What this session is about, in five to ten words that tell it from others'),
  section('Current State', 'What is being worked on at this moment, what is still open, and what comes next'),
  section(
    'Task specification',
    'What the user asked for, with decisions about the design and other explanations of theirs',
  ),
  section('Files and Functions', 'Which files and functions matter, what is in them and why they matter here'),
  section('Workflow', 'Which commands are usually run, in which order, and how to read what they print'),
  section(
    'Errors & Corrections',
    'What went wrong and how it was put right; what the user corrected; what not to try again',
  ),
  section('Codebase and System Documentation', 'The parts of the system that matter, and how they work together'),
  section('Learnings', 'What has worked well and what has not; nothing that another section says already'),
  section('Key results', 'Where the user asked for an outcome (an answer, a table, a document): that outcome, whole'),
  section('Worklog', 'Step by step what was tried and done, in one short line each'),
]

/** A person's own. What cannot be kept as it is, is not used at all. */
export function parseTemplate(text: string): { template: Template } | { unusable: string } {
  const sections: Section[] = []
  let fence: string | undefined
  for (const line of lined(text)) {
    fence = fenceAfter(line, fence)
    const title = fence === undefined ? HEADING.exec(line)?.[1] : undefined
    const last = sections.at(-1)
    if (title !== undefined) sections.push({ title, heading: `# ${title}`, about: '', body: '' })
    else if (!last) {
      if (line.trim() !== '') return { unusable: 'something stands before its first heading' }
    } else if (last.about === '' && last.body.trim() === '' && ITALIC.test(line.trim())) last.about = line.trim()
    else last.body += `${line}\n`
  }
  const template = sections.map((each) => ({ ...each, body: each.body.trim() }))
  const why = problemWith(template)
  return why === undefined ? { template } : { unusable: why }
}

/** The fence of code that is open behind a line, given the one that was open before it. */
export function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, mark = '', rest = ''] = FENCE.exec(line) ?? []
  if (open !== undefined) return mark.startsWith(open) && rest.trim() === '' ? undefined : open
  return mark !== '' && !(mark.startsWith('`') && rest.includes('`')) ? mark : undefined
}

export function openFence(lines: readonly string[]): string | undefined {
  return lines.reduce<string | undefined>((open, line) => fenceAfter(line, open), undefined)
}

function problemWith(template: Template): string | undefined {
  if (template.length === 0) return 'it has no heading such as "# Current State"'
  if (template.length > CAP_SECTIONS) return `it has more than ${CAP_SECTIONS} sections`
  const names = new Set(template.map(({ title }) => titleKey(title)))
  if (names.size < template.length) return 'two of its headings are the same'
  if (names.has('')) return 'one of its headings has neither letters nor digits'
  const abouts = template.map(({ about }) => about).filter((about) => about !== '')
  if (new Set(abouts).size < abouts.length) return 'two of its lines in italics are the same'
  if (template.some(({ heading, about }) => Math.max(heading.length, about.length) > CAP_LINE_CHARS))
    return `one of its headings or lines in italics is longer than ${CAP_LINE_CHARS} characters`
  return undefined
}

/** Headings are the same whatever their case, marks and spaces. */
export function titleKey(title: string): string {
  return title
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** Without what an editor or a hostile model may have put between and into lines. */
export function lined(text: string): string[] {
  return (
    text
      .replace(/^\uFEFF/, '')
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
      .split('\n')
  )
}

/** A file without notes. */
export function blankNotes(template: Template): string {
  return joined(
    template,
    template.map(({ body }) => body),
  )
}

export function joined(template: Template, bodies: readonly string[]): string {
  return template
    .map(({ heading, about }, n) => {
      const body = bodies[n] ?? ''
      return `${heading}\n${about === '' ? '' : `${about}\n`}${body === '' ? '' : `\n${body}\n`}`
    })
    .join('\n')
}

export type Custom = { template: Template; prompt: string | undefined; problems: string[] }

const FOLDER = join('session-memory', 'config')
/** Half of what notes may be: the rest is for what they say. */
const CAP_TEMPLATE_BYTES = 24_000
const CAP_PROMPT_BYTES = 64_000

/**
 * A person's own template and instructions for notes, read anew for every update. What cannot be used is said and left
 * aside: notes are then made as if it was not there.
 */
export function readCustom(claudeDir: string): Custom {
  const templateFile = join(claudeDir, FOLDER, 'template.md')
  const promptFile = join(claudeDir, FOLDER, 'prompt.md')
  const problems: string[] = []
  const given = readText(templateFile, CAP_TEMPLATE_BYTES)
  const asked = readText(promptFile, CAP_PROMPT_BYTES)
  if ('problem' in given) problems.push(`${templateFile} ${given.problem}`)
  if ('problem' in asked) problems.push(`${promptFile} ${asked.problem}`)
  const parsed = 'text' in given ? parseTemplate(given.text) : undefined
  if (parsed && 'unusable' in parsed) problems.push(`${templateFile} cannot be used: ${parsed.unusable}`)
  if ('text' in asked && asked.text.trim() === '') problems.push(`${promptFile} is empty`)
  return {
    template: parsed && 'template' in parsed ? parsed.template : DEFAULT_TEMPLATE,
    prompt: 'text' in asked && asked.text.trim() !== '' ? asked.text : undefined,
    problems,
  }
}

type Text = { text: string } | { problem: string } | { none: true }

function readText(path: string, capBytes: number): Text {
  let fd: number
  try {
    // Without waiting: opening a pipe without a writer would never return.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? { none: true } : { problem: `cannot be read: ${message(error)}` }
  }
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { problem: 'is not a file' }
    if (stats.size > capBytes) return { problem: `is ${stats.size} bytes long, and at most ${capBytes} can be used` }
    const bytes = readFileSync(fd)
    const text = bytes.toString('utf8')
    return Buffer.from(text).equals(bytes) && !text.includes('\0') ? { text } : { problem: 'is not text in UTF-8' }
  } catch (error) {
    return { problem: `cannot be read: ${message(error)}` }
  } finally {
    closeSync(fd)
  }
}
