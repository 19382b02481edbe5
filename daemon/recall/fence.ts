/**
 * Text of a memory as data: nothing in it can end the fence it stands in, open another, or pass for somebody who speaks. Letters
 * stay readable; only the bracket of a tag is replaced, by one that opens nothing. Pure.
 */

/** Breaks that some reader takes for the end of a line. */
const BREAKS = /\r\n|[\r\v\f\u0085\u2028\u2029]/g
/** Steers a terminal, turns the direction of writing, or hides between letters; tabs and line ends stay. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?![\t\n])\p{Cc}/gu

/** What looks like the opening bracket of a tag, and as much after it as the name of one can take, however far it is away. */
const OPENING =
  /[<\u2039\u276e\u27e8\u2329\u3008\ufe64\uff1c\u02c2\u1438\u2770\u00ab\u226a\u226e\u22d8\u27ea\u300a]([\t\p{Zs}]*[^\n<>]{0,80})/gu
/** Signs that are in use by themselves: with them only the end of a tag is one. */
const QUOTES = '\u00ab\u226a\u226e\u22d8\u27ea\u300a'
const SAFE_OPENING = '‹'
const CLOSES = /^[\s\p{M}\p{Lm}\p{Sk}]*[/\u2044\u2215\u2571\u27cb\u29f8\uff0f\\!?|%]/u
const NAMED_CLOSE = /^[\s\p{M}\p{Lm}\p{Sk}]*[/\u2044\u2215\u2571\u27cb\u29f8\uff0f\\]\s*\p{L}/u
/** In a name of letters alone only these are more than a type or a comparison. */
const ROLES =
  /^(?:system|human|user|assistant|developer|tool|function|invoke|parameter|thinking|result|instructions?|reminder|context|memory|admin|inst|im|sys|eot)$/u

export function asData(text: string): string {
  return text
    .replace(BREAKS, '\n')
    .replace(UNSEEN, '')
    .replace(OPENING, (whole: string, after: string) =>
      after !== '' && (QUOTES.includes(whole.charAt(0)) ? NAMED_CLOSE.test(after) : opensTag(after))
        ? SAFE_OPENING + after
        : whole,
    )
}

/** The same in one line. Blanks first: what a line end kept apart may be a tag. */
export function oneLine(text: string): string {
  return asData(text.replace(/[\s\u0085]+/g, ' ')).trim()
}

/** Every line marked, so that none begins as a line of the conversation would. */
export function quoted(text: string): string {
  return text
    .replace(/\n+$/, '')
    .split('\n')
    .map((line) => (line === '' ? '>' : `> ${line}`))
    .join('\n')
}

function opensTag(after: string): boolean {
  if (CLOSES.test(after)) return true
  const name = /^[\p{L}\p{M}\p{N}\p{Pd}\p{Pc}\p{Zs}\t.:]*/u.exec(plain(after))?.[0].trim() ?? ''
  const word = name.split(/\s/)[0] ?? ''
  // Tags of harnesses and models have a hyphen, an underscore or a colon in them, however far apart it is written.
  return /\p{L}\s*[-_:]\s*\p{L}/u.test(name) || ROLES.test(word) || ROLES.test(name.replace(/\s/g, ''))
}

/** Letters of other scripts, and the Latin ones they look like. */
const ALIKE_OTHERS = [...'аеорсухіѕԁһјӏԛԝмтнквαεορτυικνηѵ']
const ALIKE_LATIN = [...'aeopcyxisdhjlqwmtnkbaeoptuikvnv']
const ALIKE = new Map(ALIKE_OTHERS.map((letter, at) => [letter, ALIKE_LATIN[at] as string]))

function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{Cf}\p{M}]/gu, '')
    .toLowerCase()
    .replace(/\p{Pd}/gu, '-')
    .replace(/\p{L}/gu, (letter) => ALIKE.get(letter) ?? letter)
}
