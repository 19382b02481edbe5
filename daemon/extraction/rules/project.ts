/** What goes on around the code: decisions and their reasons, deadlines, incidents, owners, and what only looks like a mistake. */
import { type Cue, cuesOf, DATE_MARK } from './cue.ts'

// biome-ignore format: a row a line
const events: readonly Cue[] = cuesOf('project', {
  '1 decided': /\b(?:we|the team|team|they|legal|leadership|management|product|security|finance|ops|the board|board)(?:'ve| have| has|'re)? (?:all )?(?:finally |just |already |also )?(?:decided|agreed|settled on|chose|opted|voted|signed off|committed to)\b|\bdecided (?:with|against|by|in)\b(?! (?:a|the) (?:name|color))|\bdecision (?:is|was|from|made)\b|\b(?:it'?s|it is|was|is) (?:been )?decided\b|(?:^|[\p{Script=Han}] ?)decided(?: to\b| ?\p{Script=Han})/iu,
  '1 we go with': /\bwe(?:'re| are)? (?:went|going|sticking|staying|gone|stuck) (?:with|on|for)\b|\bwe(?:'ll| will) (?:stay|stick) (?:with|on)\b|\b(?:staying|sticking) (?:on|with|there)\b|\bwe(?:'re| are) (?:dropping|killing|retiring|sunsetting|deprecating|replacing|abandoning|migrating|moving|switching|freezing|postponing|rewriting|not (?:doing|building|training|supporting|shipping|adding|moving|going|upgrading|migrating))\b/i,
  '0.7 moved': /\bwe (?:moved|switched|migrated|dropped|replaced|killed|retired|rolled back|deprecated|outsourced|froze|postponed|acquired)\b/i,
  '1.1 on purpose': /\b(?:on purpose|intentional(?:ly)?|deliberate(?:ly)?|by design|not a (?:bug|mistake|typo)|for a reason|not an accident|load[- ]bearing)\b/i,
  '0.8 looks odd but': /\b(?:looks?|seems?|may look|might look) (?:odd|weird|wrong|dumb|redundant|strange|stupid|ugly|like a (?:bug|mistake)|broken|pointless|useless|unused|silly|off)\b.{0,20}\bbut\b/i,
  '1 the reason is': /\b(?:the |only |main |real |whole )+(?:reason|motivation|driver)\b.{0,60}\b(?:is|was|are)\b|\bthat'?s (?:why|the whole|the reason|the only reason)\b|\b(?:is|was|are) (?:driven|motivated|caused|dictated) by\b|\bthe whole (?:motivation|reason|point)\b/i,
  '1.1 milestone with a date': new RegExp(`\\b(?:deadline|freeze[sd]?|frozen|unfreezes|release[sd]?|launch(?:es|ed)?|go(?:es|ing)? live|went live|go-live|cuts?|ships?|shipped|sunsets?|shut(?:s|ting)? (?:off|down)|switch(?:es|ed)? (?:off|over)|turn(?:s|ed)? off|end of life|eol|expires?|runs? out|audit|assessment|certification|(?<!\\b(?:can'?t|cannot|to|please|you|i|we|will) )review|demo|migrat(?:es?|ion|ed)|cutover|contract|due|beta|pilot|rollout|rolls out|deprecat\\w+|go out|lands?|submission|kick-?off|offsite|maintenance|renewal|handover|new date|slipped|moved to|pushed to|postponed|takes? over|taking over|hand(?:s|ing|ed) over|leaves?|starts?|begins?|closes?|opens?)\\b.{0,90}${DATE_MARK}|${DATE_MARK}.{0,60}\\b(?:deadline|freeze|release|launch|go(?:es)? live|cut|sunset|shut (?:off|down)|switch(?:es|ed)? (?:off|over)|audit|assessment|review|demo|cutover|maintenance|migration|read[- ]only|begins|starts|takes over|rollout|offsite)\\b`, 'iu'),
  '1.1 support ends': new RegExp(`\\b(?:support|maintenance|trial|subscription|warranty|contract|licen[cs]e|embargo|pilot|sprint)\\b[^.]{0,40}\\bends?\\b.{0,20}${DATE_MARK}`, 'iu'),
  '0.9 ready on a date': new RegExp(`\\b(?:have to|has to|must|need to|needs to) be (?:ready|done|finished|live|online)\\b.{0,60}${DATE_MARK}`, 'iu'),
  '0.9 must be done by a date': new RegExp(`\\b(?:has to|have to|must|needs? to|wants?|want(?:s|ed)?|required?|shipped|done|finished|ready|live|gone|zero|in place|no later)\\b.{0,60}\\b(?:by|before|until|till) (?:end of day )?${DATE_MARK}`, 'iu'),
  '0.8 until a date': new RegExp(`\\b(?:until|through|till|starting|from|as of|after|before) (?:the )?${DATE_MARK}`, 'iu'),
  '1 incident': new RegExp(`\\b(?:outage|incident|breach|downtime|data loss|leak|regression|sev ?-?[0-3]|postmortem|paged|rollback)\\b.{0,60}(?:${DATE_MARK}|\\b(?:was|because|caused|due to)\\b)|${DATE_MARK}(?:'s)? .{0,30}\\b(?:outage|incident|breach|downtime|rollback)\\b|\\bwe (?:lost|leaked|broke|deleted|corrupted) .{0,50}${DATE_MARK}`, 'iu'),
  '1 owner': /\b[A-Z]?[a-z]+(?:'s team)? (?:is taking|takes|took|will take) over\b|\b(?:[A-Z][a-z]+|they|she|he)(?:'s team| team)? (?:now )?(?:owns?|leads|heads|is (?:now )?(?:responsible|in charge|the owner|on point)|runs|maintains) (?!into|out)/,
  '0.5 owner, said low': /\b(?:questions|reviews?|approvals?|decisions?) (?:are|go to|is) (?:hers|his|theirs|now)\b|\b(?:mid-rewrite|mid-migration|in the middle of (?:a|the) (?:rewrite|migration|move))\b/i,
  '1 an authority says so': /\b(?:legal|security|compliance|finance|the (?:regulator|auditors?|bank|customer|client)) (?:says?|said) (?:that )?we (?:must|have to|need to|can'?t|cannot|may not)\b/i,
  '1 our agreement': /\bour (?:sla|slo|error budget|uptime (?:target|goal)|retention(?: period)?|rpo|rto)\b.{0,20}\b(?:is|are)\b/i,
  '1 going away': /\b(?:is|are) (?:going away|being (?:removed|retired|phased out|shut down|sunset|replaced))\b/i,
  '0.8 stays until': /\b(?:stays?|remains?|is kept|are kept) until (?:they|everyone|everybody|all|the [\w ]{2,20}) (?!is green|pass)[a-z]+/i,
  '1 off the table': /\b(?:is|are) (?:off the table|off[- ]limits|frozen|on hold|out of scope|parked|no longer (?:supported|optional|planned|happening))\b|\bisn'?t optional\b|\bnot happening (?:this|until)\b/i,
  '0.9 bound to': /\b(?:is|are|we're|we are) (?:stuck|pinned|locked|limited|capped) (?:on|to|at)\b.{0,60}\b(?:until|because|since|till|for)\b(?! i\b)|\bstay(?:ing|s)? on .{2,40}\b(?:until|because|till)\b/i,
  '1 goal': new RegExp(`\\b(?:goal|target|okr|priority|focus|objective) (?:for|of|this|in) .{0,50}(?:\\bis\\b|${DATE_MARK})|\\b(?:our|top|main) (?:goal|priority|focus|target|okr) (?:is|right now is)\\b`, 'iu'),
  '0.6 an outside party requires': /\b(?:legal|security|compliance|finance|the (?:customer|client|regulator|auditors?|vendor|bank)|procurement|apple|google|hr) (?:wants?|requires?|demands?|insists|needs|asked|rejected|won'?t|will not|says no)\b|\brequired by (?:law|legal|the|our)\b|\b(?:gdpr|pci|hipaa|soc ?2|sox|iso ?27001)\b/i,
  '0.8 budget': /\b(?:budget|headcount|funding|contract|licen[cs]e)\b.{0,40}\b(?:was|got|is|has been) (?:cut|frozen|cancelled|canceled|approved|not renewed|tripled|doubled|up)\b|\bafter all\b/i,
  '0.5 after that nothing': /\b(?:after|before|until) (?:that|then|it)\b.{0,30}\b(?:only|nothing|no)\b|\bnothing .{0,30}(?:lands|goes in|ships|merges)\b|\b(?:no|only) [\w -]{3,30} (?:until|after|before)\b/i,
  '0.3 people have been told': /\b(?:partners|customers|users|everyone|everybody|whole team|the team) (?:have|has|know|knows|agreed|been told|were told|was told)\b|\bwhatever still\b|\bnobody (?:here )?wants to\b/i,
  '0.3 because': /\b(?:because|bc|cuz|due to|since|so that|otherwise|only reason)\b|因为|由于|所以|不然|否则|导致|上次|之前.{0,10}过/i,
  '1 waits': /\b(?:is|are|got|been|was|were) (?:paused|blocked|delayed|postponed|suspended|on ice|on hold|closed|unavailable|frozen|in maintenance mode|deprecated|cancelled|canceled) (?:until|till|because|for)\b|\bin maintenance mode\b/i,
  '0.7 by a date': new RegExp(`\\b(?:by|before|until|due|on) (?:end of day )?${DATE_MARK}`, 'u'),
  '0.5 until then': /\b(?:until|till|before|by|between now and) then\b|\buntil that'?s done\b/i,
  '1 there because': /\b(?:is|are|was) (?:only |just |still )?(?:there|here|kept|in there|like that|so) (?:because|since|for)\b|\bexists? (?:only )?(?:because|for)\b/i,
  '0.8 we lose': new RegExp(`\\bwe (?:lose|get|have|need|go|move|migrate|switch|launch|ship|present|submit|demo)\\b.{0,60}${DATE_MARK}`, 'iu'),
  '0.8 on a day, we': new RegExp(`${DATE_MARK},? we (?:move|switch|migrate|launch|turn off|switch off|shut|drop|retire|freeze)\\b`, 'iu'),
  '0.4 stops working': /\bstops? (?:working|being (?:supported|available)|accepting|answering)\b/i,
  '0.9 a person does it on a day': new RegExp(`\\b(?:is|are) (?:leaving|joining|moving|retiring|away|on leave|on vacation|on parental leave|out of office|visiting|presenting|shutting|switching|migrating)\\b.{0,40}${DATE_MARK}`, 'iu'),
  '0.8 window': /\b(?:only|can'?t|cannot|never) (?:lets?|allows?|deploys?|ships?|releases?|accepts?)\b.{0,60}\b(?:window|between|on|during|in)\b|\bcontract breach\b|\bmaintenance window\b/i,
  '0.8 cannot change': /\b(?:we|you) (?:can'?t|cannot|may not|must not|won'?t|are not allowed to) (?:change|touch|remove|upgrade|drop|rename|break|move|delete|restructure|use)\b.{0,60}\b(?:without|because|until|before|since|over)\b/i,
  '0.2 people around': /\b(?:vendors?|customers?|clients?|regulators?|investors?|hospital|court|auditors?|management|legal|marketing|partners?|board|leadership|compliance|contract|licen[cs]e|fda|procurement|the team|headquarters|stakeholders?)\b/i,
  '0.9 stays as it is': { pattern: /\b(?:can'?t|cannot|must stay|has to stay|keep|leave|stays?|still (?:needs?|uses?|sends?|reads?|depends?|relies?|in use)|needs? it|because|is for|are for|was made|were made)\b/i, to: /\b(?:redundant|unused|duplicated?s?|dead|odd|weird|unexplained|remove|clean(?: it| them)? up|delete|dedupe|unify|simplify|looks? (?:like|wrong|odd)|no callers|same thing|leftover|obsolete)\b/i },
  '0.6 so everything has to': /\b(?:so|therefore|hence|which means) (?:everything|all|nothing|nobody|we|every \w+)\b.{0,40}\b(?:has to|have to|needs? to|must|can'?t|can only|goes|go|ships?|waits?)\b/i,
  '0.5 cannot': /\b(?:can'?t|cannot|won'?t|will not|isn'?t allowed to) (?:update|upgrade|change|use|run|handle|support|install|open|reach|accept|migrate|onboard|connect)\b/i,
  '1 promised': /\bwe(?:'ve| have)? (?:promised|owe|committed|signed|guaranteed)\b|\b(?:sales|marketing|management) (?:already |has |have )*(?:signed|promised|announced|sold)\b/i,
  '0.6 matters most': /\bis all about\b|\b(?:comes?|goes) first\b|\b\w+ beats \w+\b|\bmatters? more than\b|\bnumber one priority\b|\beverything else (?:waits|is secondary|can wait)\b/i,
  '0.9 no change until': /\b(?:nobody|no one|nothing|no [\w -]{3,30}) (?:touches|merges|deploys|changes|ships|goes|lands|gets|is)\b.{0,60}\b(?:until|before|till|without|after)\b/i,
  '0.7 we cannot': /\bwe (?:can'?t|cannot|won'?t|will not|aren'?t allowed to) (?:bump|upgrade|move|go|update|use|drop|switch|deploy|change|add|support|migrate|adopt)\b/i,
  '0.4 still in use': /\bstill (?:runs?|uses?|needs?|depends?|relies|reads?|sends?|calls?|on|have|has)\b/i,
  '1 rolled back': new RegExp(`\\bwe (?:had to )?(?:roll(?:ed)? back|revert(?:ed)?|hotfix(?:ed)?|restored?|pulled?)\\b.{0,40}${DATE_MARK}`, 'iu'),
  '0.9 a person takes it': new RegExp(`\\b[A-Z][a-z]+ (?:takes|gets|inherits|picks up|handles|covers|moves|starts|joins|leaves|is back|returns)\\b.{0,50}${DATE_MARK}`, 'u'),
  '0.8 declined with a reason': { pattern: /\b(?:chokes?|breaks?|depends? on|relies on|needs? (?:it|them|that)|still (?:uses?|runs?|reads?|sends?|needs?)|if we (?:add|remove|change|touch|upgrade|drop))\b/i, to: /\b(?:shall i|should i|i can|i could|want me to|would (?:allow|remove|help|simplify)|can be (?:removed|simplified|dropped))\b|\?\s*$/i },
  '0.8 product said no': /\b(?:product|management|leadership|legal|security|the board|finance) (?:killed|cut|cancelled|canceled|dropped|vetoed|blocked|approved|rejected|postponed|froze) (?:it|that|this|the|us)\b/i,
})

const BECAUSE = '(?:because|since|as long as|until|due to|bc)'
const OUTSIDE =
  '(?:banks?|vendors?|customers?|clients?|regulators?|carriers?|partners?|exchange|courts?|stores?|auditors?|dbas?|suppliers?|providers?|hospitals?|insurers?|tax office|government)'

/** How things are around the code, and what keeps them so: a limit, a law, a contract, a person who has to agree. */
// biome-ignore format: a row a line
const reasons: readonly Cue[] = cuesOf('project', {
  '0.7 held so for a reason': new RegExp(`\\b(?:(?:stays?|runs?|ticks?|polls?|samples?|caps? out) (?:at|on|in|under|below)|(?:is|are) (?:pinned|capped|limited|locked|fixed|kept|held|throttled|restricted) (?:at|to|on|in|under|below)|we (?:pin|cap|limit|lock|keep|hold|throttle|restrict) [\\w -]{2,30} (?:at|to|on|under|below)) [^,?!]{1,40}\\b${BECAUSE}\\b(?! i\\b)`, 'i'),
  '0.7 not so, and why': /\bwe (?:don'?t|do not|can'?t|cannot|won'?t|stay|stick|never|only)\b[^:.?!]{3,60}: (?:the|our|their|it|they|there|some|most|half|every|no|two|three) [\w'-]+ [\w'-]+/i,
  '0.5 a person wants it so': /\b(?:wants?|wanted|asked for|insists? on|insisted on|likes?|prefers?|needs?) (?:it|them) (?:that|this) way\b|\b(?:auditors?|lawyers|regulators?|doctors|teachers|operators|customers?) insist(?:s|ed)?\b/i,
  '0.6 by law or contract': /\b(?:by law|(?:the|accounting|tax|labou?r|privacy|local|federal|german|eu) law|(?:in|under|by) (?:the|their|our) (?:contracts?|licen[cs]e|terms)|contractually|export controls?|regulations? (?:say|require|forbid))\b/i,
  '1 or an outside party acts': new RegExp(`\\b(?:has|have|needs?) to [^.?!]{2,50}\\b(?:or|or else|otherwise),? (?:the|our|their) (?:[\\w-]+ )?${OUTSIDE} (?:rejects?|drops?|refuses?|blocks?|charges?|closes?|bills?|fines?|cancels?|cuts?|kills?|complains?|won'?t)`, 'i'),
  '1 who has to agree': /^(?!.*\u2402).*\b[A-Z][a-z-]+ (?:signs? off on|approves|reviews|decides(?: on)?|has the last word on|has to (?:approve|see|review)) (?:anything|everything|all|every|whatever|any)\b/,
  '0.7 only at such hours': /\bonly (?:takes?|runs?|opens?|works?|answers?|accepts?|is (?:up|open|reachable|online))\b.{0,40}\b(?:between|from|after|before|until|during|at) (?:\d\d?(?::\d\d| ?[ap]m\b| o'?clock| and \d)|noon|midnight|night|office hours|business hours)/i,
  '0.75 declined, for it stays': { pattern: /\b(?:it |we |they )?(?:stays?|remains?)\b[^,:;]{2,50}[,:;] [\w'-]+ [\w'-]+/i, to: /\b(?:shall i|should i|i can|i could|i'd|want me to|would you like)\b|\?\s*$/i },
})

export const project: readonly Cue[] = [...events, ...reasons]
