/** What speaks against a sentence: questions, one-off orders, things meant for now, other people's words, jokes. */
import { type Doubt, doubtsOf } from './cue.ts'

/** Against the whole message. */
// biome-ignore format: a row a line
export const messageDoubts: readonly Doubt[] = doubtsOf({
  'veto text to write': [
    /(?:加|写|显示|改成|提示|文案|小字|标题|按钮|弹窗|界面).{0,12}[：:]/,
    /\b(?:it|that|which|text|copy|label|banner|toast|message|comment|title|heading|file|readme|doc|footer|header|prompt|template|page|mail|notice|error)\b[^.!?\n]{0,30}\b(?:should )?(?:says?|reads?|saying|should (?:start|begin|end) with)\b ?:/i,
  ],
  'veto text to work on': [
    /\b(?:check|fix|improve) (?:the|my|its) (?:grammar|spelling|wording|tone|english|punctuation)\b|\bmake (?:this|it|that|the) (?:\w+ )?(?:friendlier|shorter|sound|more (?:polite|formal|concise))\b|\b(?:draft|write|compose) (?:an?|the|me an?) (?:\w+ )?(?:message|mail|e-?mail|reply|announcement|post|tweet|adr|rfc|faq|memo)\b|帮我\s*(?:draft|写)\s*(?:一)?(?:封|条|篇|段)/i,
    /(?:^|[.!?\n] ?|please |pls |can you |could you )(?:translate|summari[sz]e|proofread|rephrase|paraphrase|rewrite|reword|polish|spell-?check|shorten|draft|reply to|answer) (?:this|that|it|the following|these|to|for|a|my|into|in)\b[^\n]{0,60}(?::|\n|$|please|thread)/im,
    /翻(?:译)?成|翻译(?:一下|成|成英文)?(?:[:：]|下面|这)|润色|帮我(?:回复|总结|改写)(?:一下)?(?:这|下面)|总结(?:一下)?(?:这|下面)/,
  ],
  'veto a game': /\b(?:pretend|imagine|role-?play|act as if|make believe|just brainstorming|hypothetically|for fun)\b|假装|扮演|假设(?:你|我)/i,
  'veto a supposition': [
    /(?:^|[.,!?\n] ?)(?:what if|let'?s say|suppose|say i'?m|assume|assuming|if (?:i|we) (?:were|was|had|decided?|ever|would|moved?|switch(?:ed)?|went|said))\b/i,
    /(?:^|[，。\n])(?:如果|假如|要是|万一|假设)(?:我们?|以后|老板|领导)?(?:以后)?(?:都|也)?(?:决定|换|改|用|要)/,
  ],
  'veto taken back': /\b(?:never mind|nevermind|forget (?:it|that|what i|about (?:it|that))|scratch that|ignore (?:that|what i))\b|算了|当我没说|不用记/i,
})

const QUESTION_START =
  /^(?:(?:and|but|so|ok|okay|hm+|hey|also|btw|wait|anyway|now|then)[, ]+)*(?:what(?:'?s)?|why|how|where(?:'?s)?|which|who(?:'?s|se)?(?! owns what)|when (?:do|does|did|is|are|will|should|can|was)|is (?:it|this|that|there|the|he|she|our|my)|are (?:we|you|they|there|the|these|those)|do (?:you|we|i|they|people)|does|did (?:you|we|i|they|the|that|it)|can (?:you|we|i|it|this)|could (?:you|we|i|it|this|that)|should (?:we|i|it|this)|would (?:you|it|that|this|we)|will (?:it|this|that|you|we)|have (?:you|we)|has (?:it|the|this)|any idea|difference between|remember when|do you remember|isn'?t|aren'?t|don'?t (?:we|you) )\b/i

/** Verbs that ask for a piece of work: cue words in such a sentence belong to the work. */
const WORK =
  'fix|add|rename|run|rerun|re-run|show|make|open|write|implement|create|generate|build|change|set|update|remove|delete|move|merge|rebase|push|commit|revert|undo|redo|try|explain|find|look|grep|diff|deploy|refactor|extract|insert|replace|convert|bump|increase|decrease|install|print|list|count|give|tell|send|start|restart|close|hide|disable|enable|wrap|split|port|review|debug|test|verify|compare|clean|format|put|log in|curl|export|import|check|summari[sz]e|draft|translate|call|ship|finish|complete|skip|stash|remind|walk|turn|sort|filter|return|handle|support|drop|paginate|throw|catch|mark|point|read|search|pick|bring|copy|paste|render|style|align|center|extend|adjust|apply|follow|adapt|bisect|reproduce|locate|investigate|dig|analy[sz]e|estimate|compute|calculate|assign|attach|upload|download|mute|retry|repeat|solve|simplify|inline|continue|proceed|dump|do'

const LEAD =
  "(?:(?:ok|okay|so|now|then|and|also|just|please|pls|hey|first|next|yes|yep|no|great|thanks|cool|right|hm+|for now|anyway|meanwhile|oh|alright|lgtm|perfect|but|lets|let's|btw|after that|in the meantime|you can|could you|can you|i want you to|i need you to|go ahead and)[,:!.]? )*"

export const taskStart = new RegExp(
  `^(?!you (?:can|will|'ll) find\\b)${LEAD}(?:${WORK})\\b(?! ?(?:之前|前|之后|后|的时候|时))(?! (?:for|of) [\\w .-]{2,30} (?:is|are|ends?|starts?|moves?|goes|expires?|stops?|will|has)\\b)(?! (?:me )?(?:before|first)\\b)(?!ing|s? (?:is|are|was|were|go|goes|should|must|live|lives|on|results?|reports?|style|messages?|descriptions?)\\b)(?! [\\w-]+s (?:is|are|was|were|go|goes|should|must|live|lives|get|need|have)\\b)`,
  'i',
)

export const taskStartChinese =
  /^(?:好[的，, ]*|那|然后|另外|顺便|现在|今天|today\s*|ok[，, ]*|你)*(?:帮我|麻烦|请帮|先把|把|给我|再(?:跑|试|看|改)|试试|试一下|看下|看一下|先看|跑一下|改一下|fix|改成|改为|换成|写(?:一)?个|做(?:一)?个|加(?:一)?个|弄(?:一)?个|用这个|继续|顺便|弹窗|按钮|变量名|第 ?\d+ ?行)/i

// biome-ignore format: a row a line
export const doubts: readonly Doubt[] = doubtsOf({
  'veto question': [
    /[?？]\s*[)"'”]*$/,
    QUESTION_START,
    /, (?:right|correct|isn'?t it|aren'?t they|don'?t we|doesn'?t it|huh|eh|or not|or what)[.!]*$/i,
    /(?:^|, )(?:what|why|where|who|which one)(?:'s| is| are| does| do)? (?:it|this|that|they|wrong|up|going on)[.!]*$/i,
    /(?:吗|呢|么|对吧|对不对|行不行|好不好)[。.…]*$|为什么|为啥|什么(?!都|也|的)|(?<![不没])怎么(?!都|也|样都)|什么意思|啥意思|是不是|能不能|会不会|要不要|可不可以|有没有|哪(?:个|里|儿|些)|谁(?:写|改|动|信)|多少(?!有)|(?:要|得|需要|大概)多久|多长时间|是几号|怎么办|(?:string|还是).{0,8}好/,
  ],
  'veto reminiscing': /\b(?:remember|recall) (?:when|how|what|that time|the time|上次)|还记得|记不住|不记得|\bi always forget\b|\bused to say\b|\bwhat (?:did )?i (?:told|said)\b/i,
  'veto only this once': /\b(?:just |only )?(?:this once|this time(?: only)?|for this (?:\w+ )?(?:only|one|run|commit|pr|file|change|session|branch|test|build|task|ticket|demo|release branch)|for (?:the|this) (?:rest of )?(?:this|the) session|(?:in|for|on|from|with|to) this (?!and|or|is|repo|repository|code ?base|project|org|team|company|monorepo|house|shop|product|app|service|quarter|year|month|week|machine|box|thing|day|date|list|kind|sort|reason|order)[a-z]+|this one|(?:this|the) (?:file|function|commit|pr|session|call) only|just (?:for )?(?:now|today|this))\b/i,
  'veto for now': /(?<!\b(?:to|as|up|till|until|by|from) )\b(?:for now(?!-)|right now|at the moment|for the moment|temporar(?:y|ily)|as a (?:stopgap|workaround)|i'?ll (?:revert|undo|clean|fix) (?:it|this|that)?|until i (?:get|come|am) back|(?:when|once) you(?:'re| are) (?:done|finished|through)|brb|hold on|throwaway (?:script|code|branch|test|thing|one|hack|prototype)|(?:is|it'?s)(?: just)?(?: a)? throwaway)\b/i,
  'veto 只这一次': /就这一?(?:个|次|回)|(?:这次|这回|本次)(?:先|就|不|别|用|选)|(?:先|暂时|临时)(?:写死|不要|不写|hardcode|用着|这样|先|跳过|不动)|先别|只(?:改|动)这|(?:不要|别)(?:改|动|删|用)这(?:个|里|段|行)?|demo 完|回头/i,
  'veto not yet': /(?:^|[,;:] ?|\b(?:please|pls|but|and|so) )(?:don'?t|do not|not) [^,.;]{1,40}\byet\b|\bi (?:have|need|got) to (?:leave|go|run|head (?:out|home)|log off)\b|\bgotta (?:go|run|leave)\b/i,
  'veto deferred': /(?:以后|将来|哪天)(?:有空|有时间|有机会|闲了)再|以后再(?:说|看|弄|改|讲|优化|补|处理|考虑)|回头再|后面再(?:说|看|改)|(?:明天|下周|晚点)再|先到这|\bpick (?:this|it) up (?:tomorrow|later)\b|\u2402 ?再|\bpick (?:this|it) up \u2402/iu,
  'veto another person says': [
    /^(?!(?:legal|security|compliance|finance|the (?:regulator|auditors?|bank|customer|client)) (?:says?|said) (?:that )?we (?:must|have to|need to|can'?t|cannot|may not)\b)(?!.*\bthat'?s why\b)(?:[\w.'’-]+ ){0,5}(?:said|says|wrote|thinks|claims|told me|suggests|recommends|warns|mentions)\b(?! no\b)/i,
    /^[^，。]{1,8}(?:说(?!明|过)|写着|写的|认为)|(?:文档|注释|readme|README|代码)里?(?:说|写着|写的|这句)|笑死|谁信/,
  ],
  'veto joke': /🙄|😂|🎵|\b(?:lmao|rofl|til|fun fact|did you know|yeah right|oh sure|oh great|of course it|lol of course|kidding|whatever\.|funny)\b|(?<!^)\b(?:haha+|hehe|jok(?:e|es|ing))\b|(?:^|[.!?…] )(?:yeah,? |ok,? )?sure,? (?:always|never|because|let'?s)\b|\/s[.!]*$|\bin another life\b|哈哈|呵呵/i,
  'veto unsure': /\b(?:not sure|maybe we|i think (?:the|we|it|this|maybe)|idk|i guess|perhaps we|might be|could also be|probably)\b|不确定|可能(?:是|要|会)|我倾向|大概是|好像(?:是|又)/i,
  'veto the person now': /\bi(?:'m| am|m) (?:on (?!the [\w-]+ (?:team|side))(?:a|the|my|it|call)|getting|going|off|at (?:lunch|the|a)|back|tired|so |stuck|lost|a bit|confused|about to|in a meeting|not sure|afraid|keeping|looking|trying|running|seeing|done|here|out|late|working on this|pairing|happy|curious|sorry|so)\b|\bi(?:'ve| have) decided to (?:grab|get|take|go)\b|\bbe (?:right )?back\b|\bi (?:can'?t|cannot|won'?t) [^,.]{0,40}\u2402/iu,
  'veto an interruption': /^(?:stop|wait|no no|hold on|hang on)\b[ !.,]*(?:$|stop|don'?t|that|it|the)|\bi never said\b|^(?:stop[ !]*)+.*\bnever said\b/i,
  'veto the other one': /^(?!.*\bwhen i (?:say|write|ask)\b).{0,24}\b(?:the other (?:one|file|branch|tab)|wrong (?:file|branch|ticket|one|line|tab)|i meant?)\b/i,
  '1 a state that passes': /\b(?:again|currently|so far|in progress|502|503)[.!]*$|\b(?:is|are|was|it's|still|went) (?:still |currently |all )?(?:down|stuck|red|green|pending|404)\b.{0,10}$|又(?:挂|红|失败|timeout|fail)|挂了，?等|\bis (?:down|running|failing|stuck|502|red)\b/i,
  '1 code by its place': /(?<![\w./-])[\w./-]{1,120}\.(?:ts|tsx|js|jsx|py|go|rs|java|rb|c|h|cpp|cs|php|kt|swift|vue|css|scss|html|sql|sh|toml)\b(?!\w)|\b(?:function|method|class|handler|enum|router|folder|module) (?:that|which|is|lives)\b|(?<!\/)\bline \d+|(?:枚举|函数|方法|类)在/i,
  '0.7 product behaviour': /\b(?:button|modal|spinner|checkbox|toast|banner|dropdown|page|form|prop|component|variable|parameter|field|column|endpoint returns?)\b.{0,30}\b(?:should|must|always|never)\b|\b(?:the|this|that) (?:[\w-]+ ){0,3}(?:test|variable|function|method|loop|condition|check|value|field|flag|parameter|deadline) (?:is |are )?(?:always|never|passed)\b|弹窗|勾选框|文案/i,
  '1 parameter': /\b(?:deadline|timeout|prefer|remember|always)(?:\(|_|[A-Z]| exceeded| parameter| passed| header| field| prop| keyword|-)|\u2402?\+\d+s\b/u,
  '1 a name in the code': /^(?:and |but |so |ok |the )*(?:[a-z][a-z0-9]*[A-Z]\w*|\w+_\w+|[A-Z]{2,}_\w+) (?:should|must|needs?|has to|can'?t|cannot|may not)\b/,
  '1 the parts of one thing': { pattern: /^(?:and |but |so |also )*(?:all|every|each|any) (?:[\w-]+ ){1,3}(?:in|of|on|from) (?:the|this|that) (?!repo|repository|code ?base|project|team|company|org|monorepo|house|shop)[\w-]+ (?:should|must|needs?|has|have|gets?|goes?)\b/i, against: ['feedback'] },
  'veto a user story': /\bas an? [\w -]{2,30}\b,? i want\b|\buser story\b/i,
  'veto small talk': /\b(?:the|our|my|a) (?:meeting|standup|lunch|call|coffee|sync|1:1)\b.{0,30}\b(?:moved|tomorrow|got|is|starts?|in)\b|\btalk (?:tomorrow|later|soon)\b|\blet'?s (?:wrap|call it|continue|pick|get|merge|push|ship|finish|land)\b|\bwe need (?:this|it|that)\b/i,
  'veto go-ahead': /[,.!] ?(?:continue|go on|go ahead|keep going|carry on|proceed|next|move on|ship it|merge it|commit it)[.!]*$|^(?:sounds|looks) (?:good|right|fine|great)\b/i,
  '0.6 bare praise': /^(?:(?:yes|yep|yeah|nice|perfect|great|ok|ah|oh)[,.! ]+)*(?:that'?s |that was |this is |it'?s |an? |the |very |really )*(?:good|great|right|nice|excellent|smart|correct|solid|perfect) (?:call|choice|move|idea|work|job|one|approach|instinct|thinking|decision)[.! ]*$/i,
  '1 said for the sake of a task': { pattern: new RegExp(`[,;:] (?:so |then |and |please |pls |just |now |also )*(?:${WORK})\\b(?! me\\b)[^,;]{0,60}$`, 'i'), against: ['project', 'reference', 'user'] },
  '1 为了眼前的事': { pattern: /[，,](?:你|再|请|麻烦)?(?:看看|看下|看一下|帮忙.{0,8}|帮我.{0,12}|分析(?:一下|下).{0,6}|抓紧.{0,14}|赶紧.{0,14}|修(?:一下|下)|现在加上|改(?:一下|下|掉)|去掉|删掉|换掉|补上|处理(?:一下|下)|查(?:一下|下).{0,12}|定位.{0,6}|检查一下.{0,12}|先 ?mock.{0,4})[吧。.]*$/i, against: ['project', 'reference', 'user', 'feedback'] },
  '0.7 a fault being looked for': { pattern: /\b(?:fails?|failing|failed|crash(?:es|ed|ing)?|slow|(?:the|this|that|a) bug|exceptions?|null|broken|broke|missing|403|500|502|typo|off by one|out of disk|compiles?|bisect|reproduce|works now|fixed it|stack ?trace|segfault)\b/i, against: ['project', 'user'] },
  '1 where a quote is from': { pattern: /^(?:that|this|it)(?:'s| is| was) (?:from|out of) (?:the|our|an?|my|some) [^,.!?]{2,30}[.!]*$/i, against: ['reference'] },
  '0.7 off by a little': /\boff by one\b|\bthe (?:last|first|second|third) (?:element|line|row|argument|parameter|item)\b|\blook (?:more )?carefully\b/i,
  '0.5 the thing at hand': { pattern: /^(?:and |but |so |ok |now )*(?:the|this|that) (?:\w+ )?(?:build|test|job|pipeline|runner|server|page|script|query|request|suite|importer|parser|loop|buffer|ticket|screenshot|example|snippet|index|header)\b/i, against: ['project', 'reference'] },
  '1 seen there': { pattern: /(?:去|在|上).{0,14}把(?:这|那)|上?(?:看到|发现|显示)|我负责的|我主要想/, against: ['reference', 'user'] },
})
