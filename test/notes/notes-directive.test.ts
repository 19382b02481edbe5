import { describe, expect, it } from 'vitest'
import { notesDirective, substitute } from '../../daemon/notes/notes-directive.ts'
import { blankNotes, DEFAULT_TEMPLATE, joined } from '../../daemon/notes/template.ts'

const blank = blankNotes(DEFAULT_TEMPLATE)
const asked = (more: Partial<Parameters<typeof notesDirective>[0]> = {}) =>
  notesDirective({
    template: DEFAULT_TEMPLATE,
    notes: blank,
    file: 'notes.md',
    sessionId: 's-1',
    firstNew: 'm7',
    prompt: undefined,
    ...more,
  })

describe('the directive of notes', () => {
  it('shows the notes letter by letter and says what is new', () => {
    expect(asked()).toContain(`<current-notes>\n${blank}\n</current-notes>`)
    expect(asked()).toContain('from message m7 on')
    expect(asked({ firstNew: undefined })).toContain('all of it is new')
    expect(asked()).not.toMatch(/\{\{|are too long/)
  })

  it('names the sections that are too long, and all of it', () => {
    const bodies = DEFAULT_TEMPLATE.map(({ title }) => (title === 'Worklog' ? 'x'.repeat(50_000) : ''))
    const notes = joined(DEFAULT_TEMPLATE, bodies)
    expect(asked({ notes })).toMatch(
      /The notes have 12\d{3} tokens of 12000 in all\.\n.*\n- "Worklog" has 12\d{3} tokens of 2000$/,
    )
  })

  it("takes a person's own instructions, with all that is known by a name", () => {
    const prompt = 'File {{notesPath}} of {{ sessionId }}: {{currentNotes}}. $& {{unknown}} {{newMessages}}'
    const text = asked({ prompt, notes: 'costs $1 and $& {{notesPath}}' })
    expect(text).toBe(
      'File notes.md of s-1: <current-notes>\ncosts $1 and $& {{notesPath}}\n</current-notes>. $& {{unknown}} New since they were written last is what comes from message m7 on; what was before is in them as far as it matters.',
    )
  })

  it('shows the notes also where they are not asked for: the model could not edit them otherwise', () => {
    expect(asked({ prompt: 'Be brief.' })).toBe(
      `Be brief.\n\nThe notes, in notes.md:\n<current-notes>\n${blank}\n</current-notes>`,
    )
  })
})

describe('names in a text', () => {
  it('are replaced once: what was put in is not looked at again', () => {
    expect(substitute('{{a}} {{b}}', { a: '{{b}}', b: '{{a}}' })).toBe('{{b}} {{a}}')
    expect(substitute('{{{a}}} {{a }}{{ a}} {{a.b}} {{}} {a}', { a: '1' })).toBe('{1} 11 {{a.b}} {{}} {a}')
  })

  it('are only those that are known, and $ is a character', () => {
    expect(substitute('{{toString}} {{constructor}} {{__proto__}}', {})).toBe(
      '{{toString}} {{constructor}} {{__proto__}}',
    )
    expect(substitute('{{a}}', { a: "$1 $$ $& $` $'" })).toBe("$1 $$ $& $` $'")
  })
})
