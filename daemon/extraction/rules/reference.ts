/** Where things live in outside systems. A place inside the repository is no such thing: the code shows it. */
import { ADDRESS_MARK, SYSTEM_MARK } from './marks.ts'
import type { Cue } from './rule.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'reference', weight, pattern })

const KEPT =
  "(?:lives?|sits?|stays?|is|are|be|(?:they|it|that|everything|all)'(?:re|s)|keeps?|puts?|tracks?|stores?|(?:is|are) \\w+ed|kept|tracked|stored|documented|posted|announced|filed|defined|collected|managed|recorded|logged|reported|archived|published|hosted|lands?|ends? up|goes|go|gets? \\w+|moved|come in|comes in|belongs?|resides?|dumped|written up|planned|scheduled|shows? up|appears?|arrives?)"
const PREPOSITION = '(?:in|on|at|under|to|into|inside|through|over|via|from)'

export const reference: readonly Cue[] = [
  cue(
    'kept in a system',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our |their |an? |that |this )?(?:[\\w•'’/-]+ ){0,4}?${SYSTEM_MARK}`,
      'i',
    ),
  ),
  cue(
    'kept at an address',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b(?: all| always| still| now| only)? ?(?:[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our )?)?(?:[\\w-]+ ){0,2}${ADDRESS_MARK}`,
      'i',
    ),
  ),
  cue(
    'kept in a named place',
    0.9,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,30}?\\b${PREPOSITION} (?:the |our |their |an? )?(?:[\\w•'’-]+ ){0,3}(?:channel|board|dashboard|space|bucket|workspace|sheet|tracker|folder|drive|view|vault|group|mailing list|project)\\b`,
      'i',
    ),
  ),
  cue('a system as the place', 0.8, new RegExp(`(?:→|->|=>|:)\\s*(?:the |our )?(?:[\\w-]+ ){0,2}${SYSTEM_MARK}`, 'i')),
  cue(
    'look there',
    0.9,
    new RegExp(
      `\\b(?:look|check|search|see|ask|go|use|consult|start)\\b (?:it up )?(?:[\\w]+ )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})[^.?!]{0,30}\\b(?:for|first|when|if|instead|before)\\b`,
      'i',
    ),
  ),
  cue(
    'source of truth',
    1,
    /\b(?:single )?source of truth\b|\bcanonical (?:place|copy|version|source)\b|\bsystem of record\b/i,
  ),
  cue(
    'with its name',
    0.3,
    /\b(?:project|space|board|view|page|file|folder|channel|org|team|env|bucket|vault|sheet|label|tag|queue|under)\b (?:is |called |named )?(?:[•]{2,}|[A-Z][\w-]*[A-Z0-9]\w*|[\w]+-[\w-]+)/,
  ),
  cue(
    'the other one is dead',
    0.5,
    /\b(?:the )?(?:other|old|one called)\b.{0,30}\b(?:is|are) (?:dead|outdated|out of date|stale|archived|gone|deprecated|unmaintained|read[- ]only)\b|\b(?:links?|docs?|wiki|codeowners|readme|page)\b.{0,20}\b(?:404|out of date|outdated|stale|lags?)\b|, not (?:in |on )?(?:\u2403|github|the \w+)/i,
  ),
  cue(
    'questions go there',
    0.8,
    new RegExp(
      `\\b(?:questions?|bugs?|issues?|reports?|requests?|incidents?|tickets?|escalations?|alerts?|feedback|complaints?|docs?|outages?)\\b[^.?!]{0,40}\\b(?:go(?:es)?|come in|belong|land|get|are|live)\\b[^.?!]{0,30}(?:${ADDRESS_MARK}|${SYSTEM_MARK})`,
      'i',
    ),
  ),
  cue('name: address', 1, new RegExp(`^[\\w -]{3,40}[:→]\\s*${ADDRESS_MARK}`, 'i')),
  cue(
    'name: place in a system',
    0.3,
    new RegExp(
      `^[\\w -]{3,40}[:→]\\s*(?:the |our )?${SYSTEM_MARK}[\\w&.]+(?: (?:drive|docs?|sheets?|issues|wiki|teams|projects?))?(?:[.!]*$|, (?!.*${SYSTEM_MARK})| ?[>/(—]| (?:under|in|space|board|channel|folder|page|project)\\b)`,
      'i',
    ),
  ),
  cue(
    'for such things, there',
    1,
    new RegExp(
      `\\bfor (?!now|this|that|it)[\\w -]{3,40},? (?:look|check|see|go|ask|search|use)\\b (?:it up )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})(?!.*\\b(?:and|then) (?:tell|show|give|fix|send)\\b)`,
      'i',
    ),
  ),
  cue(
    'is a place in a system',
    0.8,
    new RegExp(`\\b(?:is|are) (?:in |on )?(?:the|our|an?) (?:[\\w-]+ )?${SYSTEM_MARK}`, 'i'),
  ),
  cue(
    'ask there',
    1.1,
    new RegExp(
      `\\b(?:ask|post|write|ping|shout|announce it|raise it|report it|file (?:it|them|bugs))\\b (?:it |them )?(?:in|on|to|at) (?:the )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})`,
      'i',
    ),
  ),
  cue('can be found', 0.7, /\b(?:you(?:'ll| can| will)? find|can be found|you get)\b .{0,50}\b(?:in|on|at|under)\b/i),
  cue(
    'kept in something with a name',
    0.9,
    /\b(?:lives?|(?:is|are|be) (?:all |always )?(?:kept|tracked|stored|documented|defined|versioned|managed|recorded|archived|published|hosted|filed|planned|collected)|go(?:es)? (?:into|through|to)|comes? from|(?:is|are) (?:done|handled|written down|listed)|happens?)\b (?:all )?(?:in|on|at|under|into)? ?(?:the |our )?[A-Z][a-z&]+[A-Za-z0-9&]*(?![\w.(/])/,
  ),
  cue('these days', 0.3, /\b(?:these days|nowadays|since then)\b/i),
  cue(
    'a named place',
    0.4,
    /\b[A-Z][\w&]+ (?:workspace|queue|base|library|registry|board|space|channel|folder|page|tab|view|list|vault|group)\b/,
  ),
  cue(
    'is the place',
    1,
    new RegExp(
      `[${ADDRESS_MARK}${SYSTEM_MARK}](?:[\\w-]+ )? ?is (?:the (?:right )?(?:place|channel|spot|one|board|page)|where)\\b`,
      'i',
    ),
  ),
]

export const referenceChinese: readonly Cue[] = [
  cue(
    '在某系统里',
    1.1,
    new RegExp(`(?:在|去|看|到|用|走|放|记|存|发|提|迁到|搬到|挪到|换到|上)(?:了|的)?\\s*.{0,10}?${SYSTEM_MARK}`, 'i'),
  ),
  cue('在某地址', 1, new RegExp(`(?:在|去|看|到|地址|链接|网址|走|是).{0,8}${ADDRESS_MARK}`, 'i')),
  cue(
    '名叫',
    0.3,
    /(?:项目|空间|库|表|群|面板|看板|文档|频道|project|logstore|schedule|vault)\s*(?:是|叫|名|为)?\s*(?:[•]{2,}|[A-Za-z][\w-]+)/i,
  ),
  cue('以那个为准', 0.9, /以(?:那|这|它).{0,3}为准|唯一(?:的)?(?:来源|出处)|为准/),
  cue('那边不维护', 0.5, /(?:不维护|没人维护|不更新|过期|作废|废弃|outdated|停用)了?/i),
  cue('先查那个', 0.6, /(?:先|直接)?(?:查|去|看|找)(?:那个|那里|那边|这个|这里)(?:看|找|查)?/),
]
