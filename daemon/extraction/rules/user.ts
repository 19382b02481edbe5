/** Who the person is: role, background, knowledge, where and how they work. Never a judgement of them. */
import { ADDRESS_MARK, type Cue, SYSTEM_MARK } from './cue.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'user', weight, pattern })

const ROLE =
  '(?:engineer|developer|dev|programmer|analyst|designer|manager|lead|sre|dba|pm|po|product|intern|student|scientist|architect|consultant|founder|cto|ceo|writer|tester|qa|admin|administrator|sysadmin|contractor|freelancer|researcher|physicist|biologist|mathematician|statistician|professor|teacher|maintainer|director|head|owner|marketer|accountant|lawyer|journalist|economist|devops|ops|support|eng|sales|junior|senior|principal|staff|chemist|doctor|nurse|geologist|astronomer|musician|artist|animator|illustrator|linguist|translator|pharmacist|psychologist|historian|technician|machinist|electrician|trader|quant|actuary|librarian|photographer|hobbyist|newbie|beginner|novice)'

export const user: readonly Cue[] = [
  cue(
    'role',
    1.2,
    new RegExp(
      `\\b(?:i'?m|i am|i work as|working as|my role is|my job is|i was hired as)(?: here| just| really| actually| mostly)? (?:an? |the |in )?(?:only |new |lone |former |ex-?|sole |[\\w/+#-]+ ){0,3}${ROLE}s?\\b(?! (?:to|for|of) (?:it|this|that)\\b)`,
      'i',
    ),
  ),
  cue('was', 1, new RegExp(`\\b(?:i )?(?:was|used to be) (?:an? )(?:[\\w/+#-]+ ){0,3}${ROLE}\\b`, 'i')),
  cue(
    'role',
    1,
    /\bmy (?:role|job|title|background|day job|specialty|speciality|field|expertise)(?: here)? (?:is|was)\b|\b(?:role|background) (?:here)\b|\b[a-z]+ background here\b/i,
  ),
  cue('about me', 1, /\b(?:context|background|bit|note) (?:on|about) me\b|\babout myself\b|\bfor context,? i\b/i),
  cue(
    'years',
    1,
    /\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|many|several) ?\+? ?(?:years?|yrs?|months) (?:of|in|with|as|doing|writing) [\w+#]|\bi(?:'ve| have) been [a-z]+ing [^,]{2,40} for (?:\d+|[a-z]+|over|about) ?(?:\w+ )?(?:years|yrs|months|decades?)\b|\b[^,]{3,40} for (?:\d+|[a-z]+) (?:years|yrs)\b(?=.*\b(?:i|me|my|was)\b)/i,
  ),
  cue(
    'first steps',
    1,
    /\b(?:my |in my )?first (?:day|week|month|year|time) (?:with|on|in|using|at|writing)\b|\bi'?m (?:still )?(?:brand |pretty |quite |very |totally |completely )?new to\b|\bi(?:'m| am) (?:still )?learning\b|\bi just started (?:with|learning|on|at)\b/i,
  ),
  cue(
    'knows or not',
    1,
    /\bi (?:already )?(?:know|speak|read|understand) [\w+#, /&-]{2,40}\b(?:well|fluently|inside out|pretty well|by heart)\b|\bi(?:'ve| have)? (?:never|hardly|barely) (?:really )?(?:touched|used|worked with|written|done|seen|learned|programmed)\b|\bi (?:know|understand) (?:nothing|very little|little|next to nothing) (?:about|of)\b|\bi(?:'m| am) not (?:very |too |so |that |really )?(?:familiar|comfortable|good|fluent|at home) (?:with|in|at)\b/i,
  ),
  cue(
    'foreign',
    0.8,
    /\b(?:is|are) (?:foreign|new|all new|a mystery|greek|unknown|unfamiliar) to me\b|\bgo(?:es)? over my head\b|\bi (?:need|want) .{0,20}(?:unpacked|explained|spelled out)\b|\bno need to explain\b|\byou (?:don'?t|do not) (?:need|have) to (?:explain|link|teach|tell) me\b|\bexplain (?:accordingly|like|as if|it like)\b/i,
  ),
  cue(
    'owns',
    0.9,
    /\bi (?:own|maintain|lead|manage|run|wrote|created|founded|head|oversee|am responsible for|look after|take care of) (?:the |our |a |all )?(?!it\b|this\b|that\b|them\b|into\b|out\b|a test|the (?:test|build|script|command|suite|migration)|tests?\b)[\w-]+/i,
  ),
  cue(
    'owns for good',
    0.1,
    /\bi (?:own|maintain|lead|manage|look after|am responsible for|take care of) (?:the|our|all)\b/i,
  ),
  cue('owns, as an answer', 0.3, /^(?:haha|lol|hey|fyi|btw|actually)[, ]+i\b/i),
  cue(
    'joined',
    1,
    /\bi(?:'ve| have)? (?:just |only |recently )?(?:joined|moved (?:over )?to|switched to|transferred to|came over (?:to|from)|started (?:at|in|on)) (?:the |a |this )?[\w -]{2,30}\b(?:team|company|org|department|group|squad|project|last|on|in|from|, before)\b/i,
  ),
  cue(
    'body',
    1.2,
    /\bi(?:'m| am| have)? [^,.]{0,20}\b(?:colou?r[- ]?blind|dyslexi[ac]|deaf|blind|hard of hearing|adhd|left[- ]handed|rsi|carpal|low vision|migraines?|autistic)\b|\bmy (?:rsi|dyslexia|eyesight|hearing|adhd)\b|\bi use a screen ?reader\b|\bi never use (?:a|the) [\w-]+/i,
  ),
  cue(
    'where',
    1,
    /\b[iI](?:'m| am) (?:based |living |located )(?:in|out of)\b|\b[iI](?:'m| am) in (?!a\b|the\b|this\b|that\b|an?\b|my\b)[A-Z][a-z]+\b(?! (?:\u2402|(?:for|until|till|this|next|on|today)\b))|\b[iI] live in\b|\bmy time ?zone\b|\bmy (?:working )?hours\b/,
  ),
  cue(
    'habit',
    1,
    /\bi (?:usually|typically|normally|mostly|mainly|primarily|generally) (?:work|write|code|use|do|read|review|start|am|build|develop)\b/i,
  ),
  cue(
    'habit',
    0.6,
    /\bi (?:only|don'?t|do not) (?:write|do|read|speak|use) [\w+# ]{2,30}\b(?:myself|anymore|any more)\b/i,
  ),
  cue(
    'a person of a kind',
    1,
    /\bi(?:'m| am) (?:an? |more of an? |mostly an? |just an? )[\w/+# -]{2,30}\b(?:guy|person|girl|dude|gal|folk|by (?:training|trade|profession|education))\b/i,
  ),
  cue(
    'by training',
    1,
    /\b(?:by (?:training|trade|profession)|self-taught|taught myself|i (?:studied|majored in|trained as)|(?:phd|msc|masters?|degree|doctorate) in \w+)\b/i,
  ),
  cue(
    'language',
    1,
    /\b(?:english|german|french|spanish|chinese|japanese|korean|portuguese|russian|hindi|arabic) is(?:n'?t| not)? my (?:first|second|third|fourth|native|mother)\b|\bmy (?:native language|mother tongue|first language|english is)\b|\bnot a native speaker\b/i,
  ),
  cue('who you talk to', 0.6, /\bwho you'?re (?:talking|speaking) (?:to|with)\b/i),
  cue(
    'as the one who',
    0.9,
    /\bas (?:the|a|an) (?:person|one|guy|only|[\w-]+ (?:lead|manager|engineer|developer|owner))\b.{0,40}\bi\b(?! want to)/i,
  ),
  cue(
    'cares about',
    0.6,
    /\bi care (?:more |most |mainly |a lot )?about\b|\b(?:scares?|confuses?|intimidates?) me\b|\bnot my (?:thing|area|field|strong suit|world)\b|\b(?:is|are) (?:my )?(?:home|home turf|comfort zone|second nature|my bread and butter)\b/i,
  ),
  cue(
    'never did',
    0.8,
    /\bi(?:'ve| have) never (?!seen (?:this|that|it)|said|heard|had|been)[a-z]+(?:ed|en|ne|ught|it|un|ot)\b (?!this|that|it\b)/i,
  ),
  cue(
    'has time',
    1,
    /\bi (?:only |just )?(?:get|have|work) (?:about |only |around )?(?:\w+ )?(?:hours|days|mornings|evenings|weekends) (?:a|per|each|every|for)\b|\bi(?:'m| am) part[- ]time\b|\bi work (?:part[- ]time|remotely|nights|from)\b/i,
  ),
  cue(
    'the one who',
    0.9,
    /\bi(?:'m| am) on the [\w-]+ (?:team|side)\b|\bi(?:'m| am) (?:usually |always )?the (?:only )?(?:one|person|guy) (?:who|that|here|on)\b/i,
  ),
  cue(
    'beyond me',
    0.7,
    /\b(?:is|are) (?:beyond|above|lost on) me\b|\bbe gentle with\b|\bi (?:barely|hardly|can'?t really) (?:read|write|know|speak|understand)\b/i,
  ),
  cue(
    'comes from',
    0.9,
    /\b[iI] (?:come|came) from (?:an? )?(?:[A-Z][\w+#]+|[\w-]+ (?:background|world|land|side|dev|development|engineering))\b/,
  ),
  cue('new territory', 0.6, /\b(?:new|unknown|uncharted|unfamiliar) (?:territory|ground|world) ?(?:for|to)?\b/i),
  cue(
    'reads it well',
    1,
    /\b[iI] (?:can )?(?:read|write|speak|know|do) [A-Z][\w+#]* (?:fine|ok|okay|well|fluently|in my sleep)\b/,
  ),
  cue(
    'days of work',
    1,
    /\bi (?:only )?work (?:\w+|\d) days\b|\bi don'?t work (?:on )?(?:mondays|tuesdays|wednesdays|thursdays|fridays|weekends)\b/i,
  ),
  cue('assume I know', 0.7, /\bassume i (?:know|don'?t know|understand|can|have)\b/i),
  cue(
    'did it for years',
    1,
    /\bi(?:'ve| have)? (?:been|done|did|worked|built|run|ran|written|wrote|used|taught|managed) .{2,40}\bfor (?:\w+|\d+) (?:years|yrs|decades?)\b/i,
  ),
]

export const userChinese: readonly Cue[] = [
  cue(
    '我是',
    1.2,
    /我(?:是|就是|本来是|以前是|之前是|现在是|在.{1,10}做)(?:一?[个名位])?(?:做|搞|写)?.{0,12}(?:工程师|开发|测试|产品|设计|运维|前端|后端|算法|架构师|经理|负责人|实习生|学生|老师|研究员|分析师|运营|DBA|SRE|QA|PM|lead|leader|tech lead|程序员|新人|新手|小白|的(?=[，。,.]|$))/i,
  ),
  cue('出身', 1, /我?(?:.{1,6})出身|我的?(?:背景|专业|本职|职位|岗位)是|科班/),
  cue(
    '主要做',
    1,
    /我(?:平时|一般|目前|现在)?(?:主要|专门|负责|管|只)(?:是)?(?:写|做|负责|搞|看|管|用|维护|带)?(?!看结论)[\p{Script=Han}\w ]{1,14}/u,
  ),
  cue(
    '不熟',
    0.9,
    /(?:我|对).{0,16}(?:不太?熟|不熟悉|没(?:怎么)?(?:接触|用|写|碰|学)过|不太?懂|不了解|一窍不通|刚(?:开始)?学|还在学|半路出家)|还不太?熟|当我不懂|我不熟/,
  ),
  cue(
    '刚转',
    1,
    /我?刚(?:刚)?(?:从.{1,12})?(?:转|调|加入|来到?|入职|接手)(?:到|了|做)?.{1,12}|转(?:开发|前端|后端|测试|产品|运维|岗|到).{0,6}(?:年|个?月|组)/,
  ),
  cue('会不会', 0.8, /我.{0,8}(?:英文|英语|日语|口语|阅读|数学|SQL).{0,8}(?:没问题|不行|不好|还行|一般|流利)/i),
  cue(
    '年经验',
    0.9,
    /(?:写|做|用|干)了?.{0,12}(?:\d+|[一二三四五六七八九十]+)(?:多)?年|(?:\d+|[一二三四五六七八九十]+)年.{0,8}经验/,
  ),
  cue('身体', 1, /我.{0,4}(?:色盲|色弱|近视|听力|左撇子|腱鞘炎)/),
  cue('作息', 0.9, /我(?:一般|通常|平时|都)(?:在)?.{0,14}(?:上班|工作|在线|下班)|我在.{2,8}(?:时区|办公)/),
  cue(
    '一直做',
    0.9,
    /我(?:之前|以前|原来|过去)?(?:一直|都是|原来)(?:在)?(?:做|搞|写|用)|我带.{1,8}(?:组|团队)|我(?:是)?学.{1,8}(?:的|出身|专业)|自学的|是新手|是小白/,
  ),
  cue('时差', 0.6, /时差/),
  cue('我在某地', 0.4, /^我(?:人)?在(?![做看用写跑改等想找调测开家路这那群])\p{Script=Han}{2,4}(?=[，。,])/u),
  cue('给我…就行', 0.2, /给我.{0,8}就(?:行|好|可以)/),
  cue('很熟', 0.6, /很熟|熟悉|懂一点|会一点|精通/),
  cue('我不是…是', 1, /我不是.{1,8}[，,].{0,3}是(?:做|搞|学)?.{1,8}(?:的|[，。]|$)/),
  cue('背景', 1, /我(?:是)?\s?[\w\p{Script=Han}]{1,10}\s?背景/u),
  cue('我做…的', 1, /我(?:是)?(?:做|搞|写|干)[^，。]{1,10}的(?=[，。,]|$)/),
  cue('完全不会', 0.5, /(?:完全|基本|几乎)不(?:会|懂)|还行/),
]

/** Where things live in outside systems. A place inside the repository is no such thing: the code shows it. */

const cueReference = (name: string, weight: number, pattern: RegExp): Cue => ({
  name,
  type: 'reference',
  weight,
  pattern,
})

const KEPT =
  "(?:lives?|sits?|stays?|is|are|be|(?:they|it|that|everything|all)'(?:re|s)|keeps?|puts?|tracks?|stores?|(?:is|are) \\w+ed|kept|tracked|stored|documented|posted|announced|filed|defined|collected|managed|recorded|logged|reported|archived|published|hosted|lands?|ends? up|goes|go|gets? \\w+|moved|come in|comes in|belongs?|resides?|dumped|written up|planned|scheduled|shows? up|appears?|arrives?)"
const PREPOSITION = '(?:in|on|at|under|to|into|inside|through|over|via|from)'

export const reference: readonly Cue[] = [
  cueReference(
    'kept in a system',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our |their |an? |that |this )?(?:[\\w•'’/-]+ ){0,4}?${SYSTEM_MARK}`,
      'i',
    ),
  ),
  cueReference(
    'kept at an address',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b(?: all| always| still| now| only)? ?(?:[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our )?)?(?:[\\w-]+ ){0,2}${ADDRESS_MARK}`,
      'i',
    ),
  ),
  cueReference(
    'kept in a named place',
    0.9,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,30}?\\b${PREPOSITION} (?:the |our |their |an? )?(?:[\\w•'’-]+ ){0,3}(?:channel|board|dashboard|space|bucket|workspace|sheet|tracker|folder|drive|view|vault|group|mailing list|project)\\b`,
      'i',
    ),
  ),
  cueReference(
    'a system as the place',
    0.8,
    new RegExp(`(?:→|->|=>|:)\\s*(?:the |our )?(?:[\\w-]+ ){0,2}${SYSTEM_MARK}`, 'i'),
  ),
  cueReference(
    'look there',
    0.9,
    new RegExp(
      `\\b(?:look|check|search|see|ask|go|use|consult|start)\\b (?:it up )?(?:[\\w]+ )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})[^.?!]{0,30}\\b(?:for|first|when|if|instead|before)\\b`,
      'i',
    ),
  ),
  cueReference(
    'source of truth',
    1,
    /\b(?:single )?source of truth\b|\bcanonical (?:place|copy|version|source)\b|\bsystem of record\b/i,
  ),
  cueReference(
    'with its name',
    0.3,
    /\b(?:project|space|board|view|page|file|folder|channel|org|team|env|bucket|vault|sheet|label|tag|queue|under)\b (?:is |called |named )?(?:[•]{2,}|[A-Z][\w-]*[A-Z0-9]\w*|[\w]+-[\w-]+)/,
  ),
  cueReference(
    'the other one is dead',
    0.5,
    /\b(?:the )?(?:other|old|one called)\b.{0,30}\b(?:is|are) (?:dead|outdated|out of date|stale|archived|gone|deprecated|unmaintained|read[- ]only)\b|\b(?:links?|docs?|wiki|codeowners|readme|page)\b.{0,20}\b(?:404|out of date|outdated|stale|lags?)\b|, not (?:in |on )?(?:\u2403|github|the \w+)/i,
  ),
  cueReference(
    'questions go there',
    0.8,
    new RegExp(
      `\\b(?:questions?|bugs?|issues?|reports?|requests?|incidents?|tickets?|escalations?|alerts?|feedback|complaints?|docs?|outages?)\\b[^.?!]{0,40}\\b(?:go(?:es)?|come in|belong|land|get|are|live)\\b[^.?!]{0,30}(?:${ADDRESS_MARK}|${SYSTEM_MARK})`,
      'i',
    ),
  ),
  cueReference('name: address', 1, new RegExp(`^[\\w -]{3,40}[:→]\\s*${ADDRESS_MARK}`, 'i')),
  cueReference(
    'name: place in a system',
    0.3,
    new RegExp(
      `^[\\w -]{3,40}[:→]\\s*(?:the |our )?${SYSTEM_MARK}[\\w&.]+(?: (?:drive|docs?|sheets?|issues|wiki|teams|projects?))?(?:[.!]*$|, (?!.*${SYSTEM_MARK})| ?[>/(—]| (?:under|in|space|board|channel|folder|page|project)\\b)`,
      'i',
    ),
  ),
  cueReference(
    'for such things, there',
    1,
    new RegExp(
      `\\bfor (?!now|this|that|it)[\\w -]{3,40},? (?:look|check|see|go|ask|search|use)\\b (?:it up )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})(?!.*\\b(?:and|then) (?:tell|show|give|fix|send)\\b)`,
      'i',
    ),
  ),
  cueReference(
    'is a place in a system',
    0.8,
    new RegExp(`\\b(?:is|are) (?:in |on )?(?:the|our|an?) (?:[\\w-]+ )?${SYSTEM_MARK}`, 'i'),
  ),
  cueReference(
    'ask there',
    1.1,
    new RegExp(
      `\\b(?:ask|post|write|ping|shout|announce it|raise it|report it|file (?:it|them|bugs))\\b (?:it |them )?(?:in|on|to|at) (?:the )?(?:${ADDRESS_MARK}|${SYSTEM_MARK})`,
      'i',
    ),
  ),
  cueReference(
    'can be found',
    0.7,
    /\b(?:you(?:'ll| can| will)? find|can be found|you get)\b .{0,50}\b(?:in|on|at|under)\b/i,
  ),
  cueReference(
    'kept in something with a name',
    0.9,
    /\b(?:lives?|(?:is|are|be) (?:all |always )?(?:kept|tracked|stored|documented|defined|versioned|managed|recorded|archived|published|hosted|filed|planned|collected)|go(?:es)? (?:into|through|to)|comes? from|(?:is|are) (?:done|handled|written down|listed)|happens?)\b (?:all )?(?:in|on|at|under|into)? ?(?:the |our )?[A-Z][a-z&]+[A-Za-z0-9&]*(?![\w.(/])/,
  ),
  cueReference('these days', 0.3, /\b(?:these days|nowadays|since then)\b/i),
  cueReference(
    'a named place',
    0.4,
    /\b[A-Z][\w&]+ (?:workspace|queue|base|library|registry|board|space|channel|folder|page|tab|view|list|vault|group)\b/,
  ),
  cueReference(
    'is the place',
    1,
    new RegExp(
      `[${ADDRESS_MARK}${SYSTEM_MARK}](?:[\\w-]+ )? ?is (?:the (?:right )?(?:place|channel|spot|one|board|page)|where)\\b`,
      'i',
    ),
  ),
]

export const referenceChinese: readonly Cue[] = [
  cueReference(
    '在某系统里',
    1.1,
    new RegExp(`(?:在|去|看|到|用|走|放|记|存|发|提|迁到|搬到|挪到|换到|上)(?:了|的)?\\s*.{0,10}?${SYSTEM_MARK}`, 'i'),
  ),
  cueReference('在某地址', 1, new RegExp(`(?:在|去|看|到|地址|链接|网址|走|是).{0,8}${ADDRESS_MARK}`, 'i')),
  cueReference(
    '名叫',
    0.3,
    /(?:项目|空间|库|表|群|面板|看板|文档|频道|project|logstore|schedule|vault)\s*(?:是|叫|名|为)?\s*(?:[•]{2,}|[A-Za-z][\w-]+)/i,
  ),
  cueReference('以那个为准', 0.9, /以(?:那|这|它).{0,3}为准|唯一(?:的)?(?:来源|出处)|为准/),
  cueReference('那边不维护', 0.5, /(?:不维护|没人维护|不更新|过期|作废|废弃|outdated|停用)了?/i),
  cueReference('先查那个', 0.6, /(?:先|直接)?(?:查|去|看|找)(?:那个|那里|那边|这个|这里)(?:看|找|查)?/),
]
