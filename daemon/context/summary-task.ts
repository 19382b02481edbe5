/** What a model is asked for when a conversation is summarised, and what of its answer is used. Pure. */

export const SECTIONS = [
  ['Request and intent', 'everything the user asked for, in detail, and what they want by it'],
  ['Concepts', 'the technologies, frameworks and ideas that matter here'],
  [
    'Files and code',
    'every file that was looked at, changed or made, why it matters, and the code that is needed to go on',
  ],
  ['Errors and fixes', 'every error that came up, how it was fixed, and what the user said about it'],
  ['Problem solving', 'what was solved, and what is still being looked for'],
  ['All user messages', 'every message of the user that is no tool result, in order, as far as possible word for word'],
  ['Pending tasks', 'what the user has asked for and is not done'],
  ['Current work', 'exactly what was being done when the conversation stopped, with file names and code'],
  [
    'Next step',
    'the one next step that follows from the last request, with the words it rests on; none if all is done',
  ],
] as const

export type Scope = 'all' | 'from' | 'up_to'

const SCOPES: Record<Scope, string> = {
  all: 'Summarise the conversation above, so that the work can go on with nothing but your summary.',
  from: 'Summarise the part of the conversation that is shown above. What came before it stays as it is and will stand before your summary.',
  up_to:
    'Summarise the part of the conversation that is shown above. What comes after it stays as it is and will follow your summary, so that the next step is for what follows to say.',
}

export function summaryTask({ scope, instructions }: { scope: Scope; instructions: string }): string {
  const sections = SECTIONS.map(([name, what], n) => `${n + 1}. ${name}: ${what}`).join('\n')
  const more = instructions.trim() === '' ? '' : `\n\nWhat the user wants of this summary:\n${instructions.trim()}`
  return `${SCOPES[scope]} Call no tool: every call is denied, and your answer is text alone.

First think it through in <analysis></analysis>: go through what was said from its beginning, and check that nothing the user asked for, no file, no error and no decision is left out. That part is thrown away. Then write the summary itself in <summary></summary>, with these nine sections, numbered and titled like this:

${sections}

Write paths, names, commands, numbers and error messages exactly as they are. Leave out lists of skills and tools, and everything that only says that something was read.${more}`
}

export type Read = { summary: string } | { unusable: 'empty' | 'cut' }

/** Of an answer only what stands in the tag counts; one that never closes it was cut. */
export function readSummary(answer: string): Read {
  const text = withoutDraft(answer)
  const open = /<summary>/i.exec(text)
  if (!open) return plain(text)
  const rest = text.slice(open.index + open[0].length)
  const end = rest.search(/<\/summary>/i)
  if (end < 0) return { unusable: 'cut' }
  const summary = rest.slice(0, end).trim()
  return summary === '' ? { unusable: 'empty' } : { summary }
}

const MOST_DRAFTS = 10

/** By hand: what a model sends may be made to keep a pattern busy. */
function withoutDraft(answer: string): string {
  let text = answer
  for (let n = 0; n < MOST_DRAFTS; n++) {
    const small = text.toLowerCase()
    const from = small.indexOf('<analysis>')
    const to = from < 0 ? -1 : small.indexOf('</analysis>', from)
    if (to < 0) return text
    text = text.slice(0, from) + text.slice(to + '</analysis>'.length)
  }
  return text
}

/** A model that forgot the tag may have written the sections all the same. */
function plain(text: string): Read {
  if (/<analysis>/i.test(text)) return { unusable: 'cut' }
  const named = SECTIONS.filter(([name]) => text.includes(name)).length
  return named >= SECTIONS.length - 2 ? { summary: text.trim() } : { unusable: 'empty' }
}
