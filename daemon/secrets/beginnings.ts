/** The characters with which whatever a regular expression matches begins. Pure. */

const MOST = 200

/**
 * One of these begins every match, whatever its case; they end where the pattern becomes too free to be spelled out. Knows
 * what prefixes are written with: characters, sets, alternatives, and looks behind, which it skips.
 */
export function beginningsOf(pattern: string): string[] {
  return [...new Set(spell(pattern).map(({ text }) => text.toLowerCase()))]
}

type Spelled = { text: string; state: 'open' | 'ended' }

function spell(pattern: string): Spelled[] {
  let spelled: Spelled[] = [{ text: '', state: 'open' }]
  for (let rest = pattern; rest !== '' && spelled.some(({ state }) => state === 'open'); ) {
    const { options, length } = partOf(rest)
    rest = rest.slice(length)
    const next = spelled.flatMap((before) =>
      before.state === 'ended'
        ? [before]
        : options.map(({ text, state }): Spelled => ({ text: before.text + text, state })),
    )
    if (next.length > MOST) break
    spelled = next
  }
  return spelled
}

const END: Spelled[] = [{ text: '', state: 'ended' }]

function partOf(rest: string): { options: Spelled[]; length: number } {
  const behind = /^\(\?<![^)]*\)/.exec(rest)?.[0]
  if (behind !== undefined) return { options: [{ text: '', state: 'open' }], length: behind.length }
  if (rest.startsWith('(?:')) {
    const end = closing(rest)
    const options = alternatives(rest.slice(3, end)).flatMap(spell)
    if (rest[end + 1] !== '?') return { options, length: end + 1 }
    return { options: [{ text: '', state: 'open' }, ...options], length: end + 2 }
  }
  const set = /^\[([^\]\\^-]+|[a-z]-[a-z])\](?![{*+?])/.exec(rest)
  if (set?.[1] !== undefined) return { options: charactersOf(set[1]).map(open), length: set[0].length }
  const escaped = /^\\[^A-Za-z0-9](?![{*+?])/.exec(rest)?.[0]
  if (escaped !== undefined) return { options: [open(escaped.slice(1))], length: 2 }
  const plain = /^[^\\[\](){}*+?.^$|](?![{*+?])/.exec(rest)?.[0]
  return plain === undefined ? { options: END, length: rest.length } : { options: [open(plain)], length: 1 }
}

function open(text: string): Spelled {
  return { text, state: 'open' }
}

function charactersOf(set: string): string[] {
  if (set.length !== 3 || set[1] !== '-') return [...set]
  const [first, last] = [set.charCodeAt(0), set.charCodeAt(2)]
  return Array.from({ length: last - first + 1 }, (_, n) => String.fromCharCode(first + n))
}

/** The bracket that closes the one at the start. */
function closing(rest: string): number {
  let depth = 0
  for (let at = 0; at < rest.length; at++) {
    if (rest[at] === '(') depth++
    if (rest[at] === ')' && --depth === 0) return at
  }
  return rest.length
}

function alternatives(inner: string): string[] {
  const parts = ['']
  let depth = 0
  for (const character of inner) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === '|' && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}
