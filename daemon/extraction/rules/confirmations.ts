/** What a person says of an approach they want to see again. Only an answer can say it. */
import type { Cue } from './rule.ts'

const answer = (name: string, weight: number, pattern: RegExp): Cue => ({
  name,
  type: 'feedback',
  weight,
  pattern,
  answers: true,
})

export const confirmations: readonly Cue[] = [
  answer(
    'right call',
    1,
    /\b(?:right|good|great|smart|excellent|correct|nice|solid) (?:call|move|choice|instinct|decision|approach|way|thinking)\b/i,
  ),
  answer(
    'as I like it',
    1,
    /\b(?:that'?s|this is|is|exactly) (?:exactly |just )?(?:how|what|the way) i (?:like|want|need|prefer)\b|^that'?s the way\b|\bjust how i\b/i,
  ),
  answer(
    'keep doing',
    0.8,
    /\b(?:keep|continue) (?:on )?(?:doing|asking|using|writing|splitting|making|adding|putting|working|it up|that up|them|it) ?(?:it|that|this|like|so|small|up|before|like that)?\b(?! running\b)/i,
  ),
  answer(
    'stay with it',
    0.9,
    /\bstick (?:with|to) (?:it|this|that)\b|\b(?:more|all) of (?:that|this) please\b|\bdo (?:that|this|it) (?:again|like (?:that|this)) (?:next|in)\b/i,
  ),
  answer('liked', 1, /\bi (?:really |do )?(?:like|love|appreciate)d? (?:that|how|the way|when) you\b/i),
  answer(
    'loved',
    0.7,
    /^(?:(?:nice|great|perfect|yes|yep|ok|haha|oh)[,!.]? )*(?:love|loving|really like|i like) (?:the|how|that|this)\b/i,
  ),
  answer('perfect for', 0.7, /\bis (?:perfect|great|ideal|exactly right) for\b/i),
  answer('fine so', 0.6, /\b(?:is|are) (?:fine|ok|okay|good) (?:by|with|for) me\b|\blike you did\b/i),
  answer(
    'yes, exactly so',
    0.4,
    /^(?:yes|yep|yeah|right|correct|exactly|perfect|good|nice|great)[,.! ]+(?:exactly|always|keep|one|small|that)\b/i,
  ),
]
