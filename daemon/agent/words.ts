/**
 * Takes a command apart into words as a shell would, and denies everything for which a shell would have to be there:
 * nothing is expanded, joined, sent elsewhere or run. Pure.
 */
import { type Denied, quoted } from './denied.ts'

/** `open`: holds a character that a shell would expand; it stands for itself here. */
export type Word = { text: string; open: boolean }

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

export function parseWords(command: string): Word[] | Denied {
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
