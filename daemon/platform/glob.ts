/**
 * Matches a path against a glob: `*` and `?` within a folder, `**` across folders, `{a,b}`, and a backslash that makes the
 * next character plain. Brackets are plain too: folders of web frameworks are called `[id]`. Takes time in proportion to
 * pattern times path.
 */

type Part = { char: string } | { choices: Part[][] } | '?' | '*' | '**/' | '**'

export function compileGlob(glob: string): (path: string) => boolean {
  const parts = parse([...glob.normalize('NFC')])
  return (path) => {
    const text = [...path.normalize('NFC')]
    return walk(parts, [0], text).at(-1) === text.length
  }
}

/** The items of `a, {b,c}/d`: a comma in braces separates nothing here. */
export function splitList(list: string): string[] {
  const items = ['']
  let depth = 0
  for (const char of list) {
    if (char === '{') depth++
    if (char === '}') depth--
    if (char === ',' && depth <= 0) items.push('')
    else items.push(items.pop() + char)
  }
  return items
}

function walk(parts: Part[], from: number[], text: string[]): number[] {
  return parts.reduce((at, part) => (at.length === 0 ? at : step(part, at, text)), from)
}

function step(part: Part, at: number[], text: string[]): number[] {
  if (part === '?') return at.filter((p) => p < text.length && text[p] !== '/').map((p) => p + 1)
  if (part === '*') return spread(at, text, (p) => text[p] !== '/')
  if (part === '**') return spread(at, text, () => true)
  if (part === '**/') {
    const starts = new Set(at)
    return spread(at, text, () => true).filter((p) => starts.has(p) || text[p - 1] === '/')
  }
  if ('char' in part) return at.filter((p) => text[p] === part.char).map((p) => p + 1)
  const reached = new Set(part.choices.flatMap((choice) => walk(choice, at, text)))
  return [...reached].sort((a, b) => a - b)
}

function spread(at: number[], text: string[], passes: (position: number) => boolean): number[] {
  const reached: number[] = []
  let next = 0
  for (const start of at) {
    if (start < next) continue
    for (next = start; ; next++) {
      reached.push(next)
      if (next >= text.length || !passes(next)) break
    }
    next++
  }
  return reached
}

/** Where the choices of each brace end, the last at its closing brace. Braces without a partner or a comma are plain. */
function findBraces(glob: string[]): Map<number, number[]> {
  const braces = new Map<number, number[]>()
  const open: { at: number; ends: number[] }[] = []
  for (let i = 0; i < glob.length; i++) {
    if (glob[i] === '\\') i++
    else if (glob[i] === '{') open.push({ at: i, ends: [] })
    else if (glob[i] === ',') open.at(-1)?.ends.push(i)
    else if (glob[i] === '}') {
      const brace = open.pop()
      if (brace && brace.ends.length > 0) braces.set(brace.at, [...brace.ends, i])
    }
  }
  return braces
}

function parse(glob: string[]): Part[] {
  const braces = findBraces(glob)
  const parseRange = (start: number, end: number): Part[] => {
    const parts: Part[] = []
    for (let i = start; i < end; i++) {
      const char = glob[i] as string
      const ends = braces.get(i)
      if (ends) {
        const starts = [i, ...ends]
        parts.push({ choices: ends.map((choiceEnd, n) => parseRange((starts[n] as number) + 1, choiceEnd)) })
        i = ends.at(-1) as number
      } else if (char === '*') {
        let after = i + 1
        while (after < end && glob[after] === '*') after++
        // Two stars are more than one only as the whole name of a folder.
        const whole = after > i + 1 && (i === start || glob[i - 1] === '/')
        if (whole && after < end && glob[after] === '/') {
          parts.push('**/')
          i = after
        } else {
          parts.push(whole && after === end ? '**' : '*')
          i = after - 1
        }
      } else if (char === '?') parts.push('?')
      else if (char === '\\' && i + 1 < end) parts.push({ char: glob[++i] as string })
      else parts.push({ char })
    }
    return parts
  }
  return parseRange(0, glob.length)
}
