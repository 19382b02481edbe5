/**
 * Rules in few words. People answer what was done with hardly a verb ("explicit joins over subqueries"), or say why they
 * cannot work with it ("I get lost otherwise"): what lacks an article is meant of all its kind.
 */
import type { Cue } from './cue.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'feedback', weight, pattern })
const answer = (name: string, weight: number, pattern: RegExp): Cue => ({
  ...cue(name, weight, pattern),
  answers: true,
})

const LEAD = '(?:(?:no|nope|nah|yes|please|ugh|hey|hm+|also|and|but|ok|okay)[,.! ]+)*'
const ONE_THING = '(?:the|this|that|these|those|it|my|your|here|there|we|i|you)\\b'
/** What people make and have to read, by the dozen. */
const WORKS =
  '(?:files|comments|mocks|globals|macros|singletons|abbreviations|acronyms|names|classes|functions|tests|docs|docstrings|commits|branches|prs|diffs|imports|exports|one-liners|ternaries|decorators|wrappers|helpers|snapshots|fixtures|stubs|emojis|bullets|tables|logs|annotations|hooks|scripts)'

export const terse: readonly Cue[] = [
  answer(
    'one for each',
    1,
    new RegExp(
      `^${LEAD}(?:only |just )?(?:one|two|three|\\d|a single) [\\w-]+(?: [\\w-]+)? per (?:pr|pull request|commit|file|migration|branch|ticket|test|release|module|class|function|change|message|answer|line|issue)\\b`,
      'i',
    ),
  ),
  answer(
    'one kind over another',
    1,
    new RegExp(
      `^${LEAD}(?!${ONE_THING})[\\w-]+ (?:[\\w-]+ )?(?!(?:iterates|loops|runs|goes|passes|ranges|maps|walks|takes|hands|rolls|spills|hovers|carries|is|was|has)\\b)[\\w-]+s over (?!${ONE_THING}|\\d)[\\w -]{3,40}s\\b`,
      'i',
    ),
  ),
  answer(
    'only such things',
    0.7,
    new RegExp(`^${LEAD}(?!${ONE_THING})[\\w-]+(?: [\\w-]+)? (?!this|its|his)[\\w-]+s only(?=[,.;]|$)`, 'i'),
  ),
  answer(
    'so many for such things',
    0.7,
    new RegExp(
      `^${LEAD}(?:one|two|three|four|\\d) [\\w-]+(?: [\\w-]+)? (?:for|between|in|before|after) (?!${ONE_THING})[\\w -]{3,30}, `,
      'i',
    ),
  ),
  answer(
    'scope: so that I can follow',
    1,
    /\botherwise i (?:can'?t|cannot|get|lose|never) (?:really )?(?:follow|judge|check|review|read|understand|compare|verify|lost|track|trust)\b(?!.*\b(?:it|this|that)[.!]?$)|\bi (?:can'?t|cannot|get|lose|never) (?:really )?(?:follow|judge|check|review|read|understand|compare|verify|lost|track)\b(?: them| those| anything)? otherwise\b/i,
  ),
  cue(
    'because of me',
    0.5,
    /^(?!.*\u2402)(?:(?!\b(?:it|this|that|these|those|the|yet)\b)[^, ]+ ){3,}(?!it\b|this\b|that\b)[^, ]+, i (?:can'?t|cannot|won'?t) (?:review|read|follow|understand|check|track|compare|use|open)\b/i,
  ),
  {
    ...answer(
      'dislikes such work',
      1,
      new RegExp(
        `\\bi (?:really |just )?(?:hate|can'?t stand|dislike|loathe|detest|am not a fan of) (?!${ONE_THING})(?:[\\w-]+ ){0,2}${WORKS}\\b`,
        'i',
      ),
    ),
    remedyFollows: true,
  },
  cue('ever, at the end', 0.5, /\b(?:no|not|don'?t|never)\b.{5,80}, ever[.!]*$/i),
  cue(
    'none of such in such',
    0.3,
    new RegExp(
      `(?:^|[,;:.] ?|please )no (?!errors|changes|results|differences|hits|matches|issues|problems|failures|warnings|entries|rows|bugs|users|signs|traces)[\\w -]{2,30}s (?:in|on|inside|from|within) (?!${ONE_THING})(?:[\\w-]+ )?[\\w-]{2,30}s(?=[,.;!]|$| please)`,
      'i',
    ),
  ),
  cue(
    'in its own',
    0.5,
    /\b(?:its|their) own (?:commit|pr|pull request|file|branch|module|folder|test|line|section|release|package|ticket|migration)s?\b/i,
  ),
  cue(
    'we do this, we do not do that',
    0.5,
    /\bwe (?!don'?t|do not|can|could|should|need|have|are|were|had|got|just)[a-z]+ (?!the\b|this\b|that\b|it\b)[^,.?!]{2,50}, (?:and |but )?we (?:don'?t|do not|never) [a-z]+/i,
  ),
]

/** Where a person asks to remember, in so many words. What kind of thing it is, the rest of the sentence says. */

const cueExplicit = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'any', weight, pattern })

export const explicit: readonly Cue[] = [
  cueExplicit(
    'remember',
    1,
    /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )(?:remember|memori[sz]e|make a note|write down|don'?t forget)(?: (?:that|this)\b(?! (?:flag|file|time|bug|one))| ?[:,—])/i,
  ),
  cueExplicit(
    'for the future',
    1,
    /\bfor (?:future|later) reference\b|\bto keep in mind\b|\bfor next time\b|\bso you know for\b/i,
  ),
  cueExplicit(
    'for your information',
    0.4,
    /(?:^|[,.] ?)(?:fyi|heads[- ]?up|for the record|just so you know|btw|context|psa|important|note)\b[:,]? |\bjust so you know\b|\bmore important\b/i,
  ),
  cueExplicit(
    '记住',
    1,
    /(?:^|[，。,.：；！])\s*(?:请|帮我|麻烦|你)?(?:记住|记一下|记着|记下来|记好|备忘)(?=[，,：:。\s]|[\p{Script=Han}])/u,
  ),
  cueExplicit(
    'remember so',
    0.6,
    /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )remember (?!to\b|when|what|how|the\b|me\b|my\b|your\b|if\b|where\b|who\b|why\b|that\b|this\b)[\w•`#]/i,
  ),
  cueExplicit('keep in mind', 0.6, /\b(?:keep in mind|bear in mind|take note|note) ?(?:that\b|:)/i),
  cueExplicit(
    'with a reason beside it',
    0.25,
    /^.{12,}[,—–-] (?:the|our|their|ops|ci|legal|it'?s|they|we|nobody|everyone|people|customers?|you'?ve) [\w'-]+ [\w'-]+|^.{6,}，(?:法务|合规|审计|财务|甲方|现场|论文|对端|SRE|产品|[^，。]{1,4}那边|客户|同事|组里|线上|上次|之前|不然|海外|新人|运维|领导|老板|对方|监管|银行|那边)/i,
  ),
]
