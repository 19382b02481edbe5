/** The sections of notes: the default ones, and those of a person's own template. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { message } from '../platform/files.ts'

/** `heading` and `about` are whole lines; `about` is in italics, or empty. */
export type Section = { title: string; heading: string; about: string; body: string }
export type Template = readonly Section[]

const HEADING = /^#[ \t]+(\S.*?)[ \t]*$/
export const ITALIC = /^(?:_[^_].*_|\*[^*].*\*)$/
export const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/

/** The template is sent with every use of the notes. */
const CAP_SECTIONS = 40
const CAP_LINE_CHARS = 500

const DEFAULTS = {
  'Session Title': 'What this session is about, in five to ten words that tell it from others',
  'Current State': 'What is being worked on at this moment, what is still open, and what comes next',
  'Task specification': 'What the user asked for, with decisions about the design and other explanations of theirs',
  'Files and Functions': 'Which files and functions matter, what is in them and why they matter here',
  Workflow: 'Which commands are usually run, in which order, and how to read what they print',
  'Errors & Corrections': 'What went wrong and how it was put right; what the user corrected; what not to try again',
  'Codebase and System Documentation': 'The parts of the system that matter, and how they work together',
  Learnings: 'What has worked well and what has not; nothing that another section says already',
  'Key results': 'Where the user asked for an outcome (an answer, a table, a document): that outcome, whole',
  Worklog: 'Step by step what was tried and done, in one short line each',
}

export const DEFAULT_TEMPLATE: Template = Object.entries(DEFAULTS).map(([title, about]) => ({
  title,
  heading: `# ${title}`,
  about: `_${about}_`,
  body: '',
}))

/** A template that cannot be kept as it is, is not used at all. */
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

export function titleKey(title: string): string {
  return title
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
}

/** Without control characters that an editor or a hostile model may have put in. */
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

const FOLDER = join('session-memory', 'config')
/** Half of the cap of notes. */
const CAP_TEMPLATE_BYTES = 24_000
const CAP_PROMPT_BYTES = 64_000

/** Read for every update. What cannot be used is reported, and the default is used. */
export function readCustom(claudeDir: string) {
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
    // Opening a pipe without a writer would block.
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
