/** Who the person is: role, background, knowledge, where and how they work. Never a judgement of them. And where things live. */
import { ADDRESS_MARK, type Cue, cuesOf, SYSTEM_MARK } from './cue.ts'

const ROLE =
  '(?:engineer|developer|dev|programmer|analyst|designer|manager|lead|sre|dba|pm|po|product|intern|student|scientist|architect|consultant|founder|cto|ceo|writer|tester|qa|admin|administrator|sysadmin|contractor|freelancer|researcher|physicist|biologist|mathematician|statistician|professor|teacher|maintainer|director|head|owner|marketer|accountant|lawyer|journalist|economist|devops|ops|support|eng|sales|junior|senior|principal|staff|chemist|doctor|nurse|geologist|astronomer|musician|artist|animator|illustrator|linguist|translator|pharmacist|psychologist|historian|technician|machinist|electrician|trader|quant|actuary|librarian|photographer|hobbyist|newbie|beginner|novice)'

// biome-ignore format: a row a line
export const user: readonly Cue[] = cuesOf('user', {
  '1.2 role': new RegExp(`\\b(?:i'?m|i am|i work as|working as|my role is|my job is|i was hired as)(?: here| just| really| actually| mostly)? (?:an? |the |in )?(?:only |new |lone |former |ex-?|sole |[\\w/+#-]+ ){0,3}${ROLE}s?\\b(?! (?:to|for|of) (?:it|this|that)\\b)`, 'i'),
  '1 was': new RegExp(`\\b(?:i )?(?:was|used to be) (?:an? )(?:[\\w/+#-]+ ){0,3}${ROLE}\\b`, 'i'),
  '1 role': /\bmy (?:role|job|title|background|day job|specialty|speciality|field|expertise)(?: here)? (?:is|was)\b|\b(?:role|background) (?:here)\b|\b[a-z]+ background here\b/i,
  '1 about me': /\b(?:context|background|bit|note) (?:on|about) me\b|\babout myself\b|\bfor context,? i\b/i,
  '1 years': /\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|many|several) ?\+? ?(?:years?|yrs?|months) (?:of|in|with|as|doing|writing) [\w+#]|\bi(?:'ve| have) been [a-z]+ing [^,]{2,40} for (?:\d+|[a-z]+|over|about) ?(?:\w+ )?(?:years|yrs|months|decades?)\b|\b[^,]{3,40} for (?:\d+|[a-z]+) (?:years|yrs)\b(?=.*\b(?:i|me|my|was)\b)/i,
  '1 first steps': /\b(?:my |in my )?first (?:day|week|month|year|time) (?:with|on|in|using|at|writing)\b|\bi'?m (?:still )?(?:brand |pretty |quite |very |totally |completely )?new to\b|\bi(?:'m| am) (?:still )?learning\b|\bi just started (?:with|learning|on|at)\b/i,
  '1 knows or not': /\bi (?:already )?(?:know|speak|read|understand) [\w+#, /&-]{2,40}\b(?:well|fluently|inside out|pretty well|by heart)\b|\bi(?:'ve| have)? (?:never|hardly|barely) (?:really )?(?:touched|used|worked with|written|done|seen|learned|programmed)\b|\bi (?:know|understand) (?:nothing|very little|little|next to nothing) (?:about|of)\b|\bi(?:'m| am) not (?:very |too |so |that |really )?(?:familiar|comfortable|good|fluent|at home) (?:with|in|at)\b/i,
  '0.8 foreign': /\b(?:is|are) (?:foreign|new|all new|a mystery|greek|unknown|unfamiliar) to me\b|\bgo(?:es)? over my head\b|\bi (?:need|want) .{0,20}(?:unpacked|explained|spelled out)\b|\bno need to explain\b|\byou (?:don'?t|do not) (?:need|have) to (?:explain|link|teach|tell) me\b|\bexplain (?:accordingly|like|as if|it like)\b/i,
  '0.9 owns': /\bi (?:own|maintain|lead|manage|run|wrote|created|founded|head|oversee|am responsible for|look after|take care of) (?:the |our |a |all )?(?!it\b|this\b|that\b|them\b|into\b|out\b|a test|the (?:test|build|script|command|suite|migration)|tests?\b)[\w-]+/i,
  '0.1 owns for good': /\bi (?:own|maintain|lead|manage|look after|am responsible for|take care of) (?:the|our|all)\b/i,
  '0.3 owns, as an answer': /^(?:haha|lol|hey|fyi|btw|actually)[, ]+i\b/i,
  '1 joined': /\bi(?:'ve| have)? (?:just |only |recently )?(?:joined|moved (?:over )?to|switched to|transferred to|came over (?:to|from)|started (?:at|in|on)) (?:the |a |this )?[\w -]{2,30}\b(?:team|company|org|department|group|squad|project|last|on|in|from|, before)\b/i,
  '1.2 body': /\bi(?:'m| am| have)? [^,.]{0,20}\b(?:colou?r[- ]?blind|dyslexi[ac]|deaf|blind|hard of hearing|adhd|left[- ]handed|rsi|carpal|low vision|migraines?|autistic)\b|\bmy (?:rsi|dyslexia|eyesight|hearing|adhd)\b|\bi use a screen ?reader\b|\bi never use (?:a|the) [\w-]+/i,
  '1 where': /\b[iI](?:'m| am) (?:based |living |located )(?:in|out of)\b|\b[iI](?:'m| am) in (?!a\b|the\b|this\b|that\b|an?\b|my\b)[A-Z][a-z]+\b(?! (?:\u2402|(?:for|until|till|this|next|on|today)\b))|\b[iI] live in\b|\bmy time ?zone\b|\bmy (?:working )?hours\b/,
  '1 habit': /\bi (?:usually|typically|normally|mostly|mainly|primarily|generally) (?:work|write|code|use|do|read|review|start|am|build|develop)\b/i,
  '0.6 habit': /\bi (?:only|don'?t|do not) (?:write|do|read|speak|use) [\w+# ]{2,30}\b(?:myself|anymore|any more)\b/i,
  '1 a person of a kind': /\bi(?:'m| am) (?:an? |more of an? |mostly an? |just an? )[\w/+# -]{2,30}\b(?:guy|person|girl|dude|gal|folk|by (?:training|trade|profession|education))\b/i,
  '1 by training': /\b(?:by (?:training|trade|profession)|self-taught|taught myself|i (?:studied|majored in|trained as)|(?:phd|msc|masters?|degree|doctorate) in \w+)\b/i,
  '1 language': /\b(?:english|german|french|spanish|chinese|japanese|korean|portuguese|russian|hindi|arabic) is(?:n'?t| not)? my (?:first|second|third|fourth|native|mother)\b|\bmy (?:native language|mother tongue|first language|english is)\b|\bnot a native speaker\b/i,
  '0.6 who you talk to': /\bwho you'?re (?:talking|speaking) (?:to|with)\b/i,
  '0.9 as the one who': /\bas (?:the|a|an) (?:person|one|guy|only|[\w-]+ (?:lead|manager|engineer|developer|owner))\b.{0,40}\bi\b(?! want to)/i,
  '0.6 cares about': /\bi care (?:more |most |mainly |a lot )?about\b|\b(?:scares?|confuses?|intimidates?) me\b|\bnot my (?:thing|area|field|strong suit|world)\b|\b(?:is|are) (?:my )?(?:home|home turf|comfort zone|second nature|my bread and butter)\b/i,
  '0.8 never did': /\bi(?:'ve| have) never (?!seen (?:this|that|it)|said|heard|had|been)[a-z]+(?:ed|en|ne|ught|it|un|ot)\b (?!this|that|it\b)/i,
  '1 has time': /\bi (?:only |just )?(?:get|have|work) (?:about |only |around )?(?:\w+ )?(?:hours|days|mornings|evenings|weekends) (?:a|per|each|every|for)\b|\bi(?:'m| am) part[- ]time\b|\bi work (?:part[- ]time|remotely|nights|from)\b/i,
  '0.9 the one who': /\bi(?:'m| am) on the [\w-]+ (?:team|side)\b|\bi(?:'m| am) (?:usually |always )?the (?:only )?(?:one|person|guy) (?:who|that|here|on)\b/i,
  '0.7 beyond me': /\b(?:is|are) (?:beyond|above|lost on) me\b|\bbe gentle with\b|\bi (?:barely|hardly|can'?t really) (?:read|write|know|speak|understand)\b/i,
  '0.9 comes from': /\b[iI] (?:come|came) from (?:an? )?(?:[A-Z][\w+#]+|[\w-]+ (?:background|world|land|side|dev|development|engineering))\b/,
  '0.6 new territory': /\b(?:new|unknown|uncharted|unfamiliar) (?:territory|ground|world) ?(?:for|to)?\b/i,
  '1 reads it well': /\b[iI] (?:can )?(?:read|write|speak|know|do) [A-Z][\w+#]* (?:fine|ok|okay|well|fluently|in my sleep)\b/,
  '1 days of work': /\bi (?:only )?work (?:\w+|\d) days\b|\bi don'?t work (?:on )?(?:mondays|tuesdays|wednesdays|thursdays|fridays|weekends)\b/i,
  '0.7 assume I know': /\bassume i (?:know|don'?t know|understand|can|have)\b/i,
  '1 did it for years': /\bi(?:'ve| have)? (?:been|done|did|worked|built|run|ran|written|wrote|used|taught|managed) .{2,40}\bfor (?:\w+|\d+) (?:years|yrs|decades?)\b/i,
})

const KEPT =
  "(?:lives?|sits?|stays?|is|are|be|(?:they|it|that|everything|all)'(?:re|s)|keeps?|puts?|tracks?|stores?|(?:is|are) \\w+ed|kept|tracked|stored|documented|posted|announced|filed|defined|collected|managed|recorded|logged|reported|archived|published|hosted|lands?|ends? up|goes|go|gets? \\w+|moved|come in|comes in|belongs?|resides?|dumped|written up|planned|scheduled|shows? up|appears?|arrives?)"
const PREPOSITION = '(?:in|on|at|under|to|into|inside|through|over|via|from)'

/** Where things live in outside systems. A place inside the repository is no such thing: the code shows it. */
// biome-ignore format: a row a line
export const reference: readonly Cue[] = cuesOf('reference', {
  '1.1 kept in a system': new RegExp(`\\b${KEPT}\\b[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our |their |an? |that |this )?(?:[\\w•'’/-]+ ){0,4}?${SYSTEM_MARK}`, 'i'),
  '1.1 kept at an address': new RegExp(`\\b${KEPT}\\b(?: all| always| still| now| only)? ?(?:[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our )?)?(?:[\\w-]+ ){0,2}${ADDRESS_MARK}`, 'i'),
  '0.9 kept in a named place': new RegExp(`\\b${KEPT}\\b[^.?!]{0,30}?\\b${PREPOSITION} (?:the |our |their |an? )?(?:[\\w•'’-]+ ){0,3}(?:channel|board|dashboard|space|bucket|workspace|sheet|tracker|folder|drive|view|vault|group|mailing list|project)\\b`, 'i'),
  '0.8 a system as the place': new RegExp(`(?:→|->|=>|:)\\s*(?:the |our )?(?:[\\w-]+ ){0,2}${SYSTEM_MARK}`, 'i'),
  '0.9 look there': new RegExp(`\\b(?:look|check|search|see|ask|go|use|consult|start)\\b (?:it up )?(?:[\\w]+ )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})[^.?!]{0,30}\\b(?:for|first|when|if|instead|before)\\b`, 'i'),
  '1 source of truth': /\b(?:single )?source of truth\b|\bcanonical (?:place|copy|version|source)\b|\bsystem of record\b/i,
  '0.3 with its name': /\b(?:project|space|board|view|page|file|folder|channel|org|team|env|bucket|vault|sheet|label|tag|queue|under)\b (?:is |called |named )?(?:[•]{2,}|[A-Z][\w-]*[A-Z0-9]\w*|[\w]+-[\w-]+)/,
  '0.5 the other one is dead': /\b(?:the )?(?:other|old|one called)\b.{0,30}\b(?:is|are) (?:dead|outdated|out of date|stale|archived|gone|deprecated|unmaintained|read[- ]only)\b|\b(?:links?|docs?|wiki|codeowners|readme|page)\b.{0,20}\b(?:404|out of date|outdated|stale|lags?)\b|, not (?:in |on )?(?:\u2403|github|the \w+)/i,
  '0.8 questions go there': new RegExp(`\\b(?:questions?|bugs?|issues?|reports?|requests?|incidents?|tickets?|escalations?|alerts?|feedback|complaints?|docs?|outages?)\\b[^.?!]{0,40}\\b(?:go(?:es)?|come in|belong|land|get|are|live)\\b[^.?!]{0,30}(?:${ADDRESS_MARK}|${SYSTEM_MARK})`, 'i'),
  '1 name: address': new RegExp(`^[\\w -]{3,40}[:→]\\s*${ADDRESS_MARK}`, 'i'),
  '0.3 name: place in a system': new RegExp(`^[\\w -]{3,40}[:→]\\s*(?:the |our )?${SYSTEM_MARK}[\\w&.]+(?: (?:drive|docs?|sheets?|issues|wiki|teams|projects?))?(?:[.!]*$|, (?!.*${SYSTEM_MARK})| ?[>/(—]| (?:under|in|space|board|channel|folder|page|project)\\b)`, 'i'),
  '1 for such things, there': new RegExp(`\\bfor (?!now|this|that|it)[\\w -]{3,40},? (?:look|check|see|go|ask|search|use)\\b (?:it up )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})(?!.*\\b(?:and|then) (?:tell|show|give|fix|send)\\b)`, 'i'),
  '0.8 is a place in a system': new RegExp(`\\b(?:is|are) (?:in |on )?(?:the|our|an?) (?:[\\w-]+ )?${SYSTEM_MARK}`, 'i'),
  '1.1 ask there': new RegExp(`\\b(?:ask|post|write|ping|shout|announce it|raise it|report it|file (?:it|them|bugs))\\b (?:it |them )?(?:in|on|to|at) (?:the )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})`, 'i'),
  '0.7 can be found': /\b(?:you(?:'ll| can| will)? find|can be found|you get)\b .{0,50}\b(?:in|on|at|under)\b/i,
  '0.9 kept in something with a name': /\b(?:lives?|(?:is|are|be) (?:all |always )?(?:kept|tracked|stored|documented|defined|versioned|managed|recorded|archived|published|hosted|filed|planned|collected)|go(?:es)? (?:into|through|to)|comes? from|(?:is|are) (?:done|handled|written down|listed)|happens?)\b (?:all )?(?:in|on|at|under|into)? ?(?:the |our )?[A-Z][a-z&]+[A-Za-z0-9&]*(?![\w.(/])/,
  '0.3 these days': /\b(?:these days|nowadays|since then)\b/i,
  '0.4 a named place': /\b[A-Z][\w&]+ (?:workspace|queue|base|library|registry|board|space|channel|folder|page|tab|view|list|vault|group)\b/,
  '1 is the place': new RegExp(`[${ADDRESS_MARK}${SYSTEM_MARK}](?:[\\w-]+ )? ?is (?:the (?:right )?(?:place|channel|spot|one|board|page)|where)\\b`, 'i'),
})
