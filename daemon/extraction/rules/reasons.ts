/** How things are around the code, and what keeps them so: a number that is held, a law, a contract, whoever has to agree. */
import type { Cue } from './rule.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'project', weight, pattern })

const BECAUSE = '(?:because|since|as long as|until|due to|bc)'
const OUTSIDE =
  '(?:banks?|vendors?|customers?|clients?|regulators?|carriers?|partners?|exchange|courts?|stores?|auditors?|dbas?|suppliers?|providers?|hospitals?|insurers?|tax office|government)'

export const reasons: readonly Cue[] = [
  cue(
    'held so for a reason',
    0.7,
    new RegExp(
      `\\b(?:(?:stays?|runs?|ticks?|polls?|samples?|caps? out) (?:at|on|in|under|below)|(?:is|are) (?:pinned|capped|limited|locked|fixed|kept|held|throttled|restricted) (?:at|to|on|in|under|below)|we (?:pin|cap|limit|lock|keep|hold|throttle|restrict) [\\w -]{2,30} (?:at|to|on|under|below)) [^,?!]{1,40}\\b${BECAUSE}\\b(?! i\\b)`,
      'i',
    ),
  ),
  cue(
    'not so, and why',
    0.7,
    /\bwe (?:don'?t|do not|can'?t|cannot|won'?t|stay|stick|never|only)\b[^:.?!]{3,60}: (?:the|our|their|it|they|there|some|most|half|every|no|two|three) [\w'-]+ [\w'-]+/i,
  ),
  cue(
    'somebody wants it so',
    0.5,
    /\b(?:wants?|wanted|asked for|insists? on|insisted on|likes?|prefers?|needs?) (?:it|them) (?:that|this) way\b|\b(?:auditors?|lawyers|regulators?|doctors|teachers|operators|customers?) insist(?:s|ed)?\b/i,
  ),
  cue(
    'by law or contract',
    0.6,
    /\b(?:by law|(?:the|accounting|tax|labou?r|privacy|local|federal|german|eu) law|(?:in|under|by) (?:the|their|our) (?:contracts?|licen[cs]e|terms)|contractually|export controls?|regulations? (?:say|require|forbid))\b/i,
  ),
  cue(
    'or somebody outside acts',
    1,
    new RegExp(
      `\\b(?:has|have|needs?) to [^.?!]{2,50}\\b(?:or|or else|otherwise),? (?:the|our|their) (?:[\\w-]+ )?${OUTSIDE} (?:rejects?|drops?|refuses?|blocks?|charges?|closes?|bills?|fines?|cancels?|cuts?|kills?|complains?|won'?t)`,
      'i',
    ),
  ),
  cue(
    'who has to agree',
    1,
    /^(?!.*\u2402).*\b[A-Z][a-z-]+ (?:signs? off on|approves|reviews|decides(?: on)?|has the last word on|has to (?:approve|see|review)) (?:anything|everything|all|every|whatever|any)\b/,
  ),
  cue(
    'only at such hours',
    0.7,
    /\bonly (?:takes?|runs?|opens?|works?|answers?|accepts?|is (?:up|open|reachable|online))\b.{0,40}\b(?:between|from|after|before|until|during|at) (?:\d\d?(?::\d\d| ?[ap]m\b| o'?clock| and \d)|noon|midnight|night|office hours|business hours)/i,
  ),
  {
    ...cue(
      'declined, for it stays',
      0.75,
      /\b(?:it |we |they )?(?:stays?|remains?)\b[^,:;]{2,50}[,:;] [\w'-]+ [\w'-]+/i,
    ),
    to: /\b(?:shall i|should i|i can|i could|i'd|want me to|would you like)\b|\?\s*$/i,
  },
]
