/** Parts own words into sentences, and blanks out in each what is mentioned and not said: quotes, code, dates. Pure. */
import { relativeDatesIn } from './dates/dates.ts'
import { DATE_MARK } from './rules/marks.ts'
import { markPlaces } from './rules/places.ts'

export type Sentence = {
  /** As typed. */
  said: string
  /** The same with quotes and code blanked, dates, addresses and systems marked: what cues are looked for in. */
  heard: string
}

/** No cue has this sign; a name in quotes shows as a row of it. */
const BLANK = '•'

/** Not every dot ends a sentence: versions, hosts, files and what is usually shortened. */
const BREAK =
  /(?<=[。！？；\n])|(?<=[!?](?:["')\]]|\s*))(?=\s+\S)|(?<=(?<!\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|cf))[.;…]["')\]]?)\s+(?=\S)/i

/** More sentences than these are a text, not a message. */
const CAP_SENTENCES = 60

export function sentencesIn(text: string): Sentence[] {
  return text
    .split(BREAK)
    .flatMap((part) => part.split(ASIDE))
    .map((part) => part.replace(/^[\s,，。.;；:：)\]-]+/u, '').trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .slice(0, CAP_SENTENCES)
    .map((said) => ({ said, heard: heard(said) }))
}

/** A new thought that people tie to the last one with nothing but a comma or a dash. */
const ASIDE =
  /(?:,|，| -+| —)\s+(?=(?:ok(?:ay)? )?(?:now|anyway|anyways|can you|could you|would you|back to|also (?:the|fix|please|can)|btw)\b)|(?:,|，)\s*(?=(?:顺便|现在先|今天先|你帮我|帮我|today 先))/i

function heard(said: string): string {
  const blanked = said
    .replace(/`[^`]*`|"[^"]*"|“[^”]*”|「[^」]*」|『[^』]*』|(?<![\w])'[^'\n]{2,}'(?!\w)|‘[^’\n]{2,}’(?!\w)/g, (quote) =>
      BLANK.repeat(quote.length),
    )
    .replace(/\b\d{4}-\d\d-\d\d\b/g, DATE_MARK)
  let marked = blanked
  for (const date of relativeDatesIn(blanked)) marked = marked.replace(date, ` ${DATE_MARK} `)
  return markPlaces(marked).replace(/ {2,}/g, ' ').replace(/’/g, "'").trim()
}
