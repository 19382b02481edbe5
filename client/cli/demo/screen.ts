/** What the tour prints: lines that fit the terminal, and colours only where somebody wants them. */
import pc from 'picocolors'
import { harmless, type Print } from '../context.ts'

export type Screen = {
  /** A new part of the tour. */
  chapter(title: string): void
  say(text: string): void
  dim(text: string): void
  good(text: string): void
  /** Cut to so many lines. */
  quote(text: string, most: number): void
}

const NARROWEST = 39
const WIDEST = 110

export function createScreen(
  write: (text: string) => void,
  colour: Print['colour'],
  columns: number | undefined,
): Screen {
  const paint = pc.createColors(colour === 'on')
  const width = Math.max(NARROWEST, Math.min((columns ?? 80) - 1, WIDEST))
  let chapters = 0
  const line = (text: string, style: (text: string) => string = (same) => same) =>
    write(`${style(cut(harmless(text, 'off').replaceAll('\n', ' '), width))}\n`)
  const lines = (text: string, indent: string, style?: (text: string) => string) => {
    for (const each of wrapped(text, width - indent.length)) line(indent + each, style)
  }
  return {
    chapter: (title) => {
      write('\n')
      line(`${++chapters}. ${title}`, paint.bold)
    },
    say: (text) => lines(text, '   '),
    dim: (text) => lines(text, '   ', paint.dim),
    good: (text) => lines(text, '   ', paint.green),
    quote: (text, most) => {
      const all = text.split('\n').filter((each) => each.trim() !== '')
      for (const each of all.slice(0, most)) line(`   | ${each}`, paint.cyan)
      if (all.length > most) line(`   | ... ${all.length - most} more lines`, paint.dim)
    },
  }
}

function cut(text: string, width: number): string {
  const letters = [...text]
  return letters.length <= width ? text : `${letters.slice(0, width - 3).join('')}...`
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}
