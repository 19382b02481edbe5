/** Where a person asks to remember, in so many words. What kind of thing it is, the rest of the sentence says. */
import type { Cue } from './rule.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'any', weight, pattern })

export const explicit: readonly Cue[] = [
  cue(
    'remember',
    1,
    /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )(?:remember|memori[sz]e|make a note|write down|don'?t forget)(?: (?:that|this)\b(?! (?:flag|file|time|bug|one))| ?[:,—])/i,
  ),
  cue(
    'for the future',
    1,
    /\bfor (?:future|later) reference\b|\bto keep in mind\b|\bfor next time\b|\bso you know for\b/i,
  ),
  cue(
    'for your information',
    0.4,
    /(?:^|[,.] ?)(?:fyi|heads[- ]?up|for the record|just so you know|btw|context|psa|important|note)\b[:,]? |\bjust so you know\b|\bmore important\b/i,
  ),
  cue(
    '记住',
    1,
    /(?:^|[，。,.：；！])\s*(?:请|帮我|麻烦|你)?(?:记住|记一下|记着|记下来|记好|备忘)(?=[，,：:。\s]|[\p{Script=Han}])/u,
  ),
  cue(
    'remember so',
    0.6,
    /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )remember (?!to\b|when|what|how|the\b|me\b|my\b|your\b|if\b|where\b|who\b|why\b|that\b|this\b)[\w•`#]/i,
  ),
  cue('keep in mind', 0.6, /\b(?:keep in mind|bear in mind|take note|note) ?(?:that\b|:)/i),
  cue(
    'with a reason beside it',
    0.25,
    /^.{12,}[,—–-] (?:the|our|their|ops|ci|legal|it'?s|they|we|nobody|everyone|people|customers?|you'?ve) [\w'-]+ [\w'-]+|^.{6,}，(?:法务|合规|审计|财务|甲方|现场|论文|对端|SRE|产品|[^，。]{1,4}那边|客户|同事|组里|线上|上次|之前|不然|海外|新人|运维|领导|老板|对方|监管|银行|那边)/i,
  ),
]
