/** How a person wants to be worked with: standing rules, corrections that will hold, confirmations of an approach. */
import { answer, type Cue, cuesOf } from './cue.ts'

/** Where a person asks to remember, in so many words. What kind of thing it is, the rest of the sentence says. */
// biome-ignore format: a row a line
const explicit: readonly Cue[] = cuesOf('any', {
  '1 remember': /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )(?:remember|memori[sz]e|make a note|write down|don'?t forget)(?: (?:that|this)\b(?! (?:flag|file|time|bug|one))| ?[:,—])/i,
  '1 for the future': /\bfor (?:future|later) reference\b|\bto keep in mind\b|\bfor next time\b|\bso you know for\b/i,
  '0.4 for your information': /(?:^|[,.] ?)(?:fyi|heads[- ]?up|for the record|just so you know|btw|context|psa|important|note)\b[:,]? |\bjust so you know\b|\bmore important\b/i,
  '1 记住': /(?:^|[，。,.：；！])\s*(?:请|帮我|麻烦|你)?(?:记住|记一下|记着|记下来|记好|备忘)(?=[，,：:。\s]|[\p{Script=Han}])/u,
  '0.6 remember so': /(?:^|[,.:;] ?|\b(?:please|pls|and|also|so) )remember (?!to\b|when|what|how|the\b|me\b|my\b|your\b|if\b|where\b|who\b|why\b|that\b|this\b)[\w•`#]/i,
  '0.6 keep in mind': /\b(?:keep in mind|bear in mind|take note|note) ?(?:that\b|:)/i,
  '0.25 with a reason beside it': /^.{12,}[,—–-] (?:the|our|their|ops|ci|legal|it'?s|they|we|nobody|everyone|people|customers?|you'?ve) [\w'-]+ [\w'-]+|^.{6,}，(?:法务|合规|审计|财务|甲方|现场|论文|对端|SRE|产品|[^，。]{1,4}那边|客户|同事|组里|线上|上次|之前|不然|海外|新人|运维|领导|老板|对方|监管|银行|那边)/i,
})

// biome-ignore format: a row a line
const standing: readonly Cue[] = cuesOf('feedback', {
  '1 scope: from now on': /\b(?:from now on(?! it'?s)|from here on(?! (?:it|the|this|that|everything|all)\b)|going forward(?! step| with| to)|henceforth|in (?:the )?future(?! (?:releases|versions|updates|sprints|quarters|iterations)\b)|as a rule|rule of thumb|for (?:all|every|future) sessions?|all sessions|from (?:this|that) point on)\b/i,
  '1 scope: in general': /(?:^|[,.:;] ?|and |but )(?:in general|generally|as a general rule)[,: ] ?(?!this|that|it\b|i think|looks|speaking|fine|good)/i,
  '0.9 scope: every time': /\b(?:every|each) (?:single )?time\b(?! (?:i|it|this|we)\b)|\b(?:any ?time|whenever) (?:you|we|something|a|an|there)\b|\bno exceptions?\b/i,
  '0.7 scope: for every such thing': /\b(?:do|did|want|like|use|need|keep) (?:that|this|it|one|these)? ?(?:for|in|on|with|to) (?:every|each|all|any)\b/i,
  '0.5 scope: this repository': /\b(?:(?:anywhere|everywhere) in (?:this|the|our)|(?:in|for|across) (?:this|our)) (?:whole |entire )?(?:repo|repository|code ?base|project|org|organi[sz]ation|team|company|monorepo|shop)\b|\beverywhere\b/i,
  '0.6 scope: by default': /\bby default\b/i,
  '1 always or never, as an order': /(?:^|[,:;—–] ?|\b(?:and|but|so|please|pls|remember|no|yes|also)[,:]? )(?:always|never|don'?t ever|do not ever|only ever|at no point) (?!mind|gonna|ever|(?!need|embed|feed|seed|shed|shred|proceed|exceed|speed|heed|breed)[a-z]+ed\b|said|heard|seen|knew|thought|work|pass|a |an |the |been|had|got |happen|show up|on |in |at |there|here|so |such|learn|again)[a-z-]{2,}/i,
  '0.8 we always or never': /\bwe (?:always|never|only ever)\b(?! (?:got|had|heard|knew|said|agreed|decided|did))/i,
  '0.6 things that are always or never so': /^(?:[\w,'-]+ ){0,8}(?:always|never) (?:has|have|gets?|goes|go|with|hits?|uses?|runs?|needs?|comes?|lives?|carry|carries|includes?|contains?|returns?|[\p{Script=Han}])/iu,
  '0.7 never, after the thing': /,\s*never[.!]*$/i,
  '1 is never right': { pattern: /\b(?:is|are) (?:never|not) (?:ok|okay|fine|acceptable|allowed|an option) ?(?:anywhere|here|in (?:this|our)|from here|for us|to)?\b(?=.*(?:anywhere|here|repo|code ?base|never))/i, remedyFollows: true },
  '1 stop doing': /(?:^|[,.:;\u2402] ?|\b(?:please|pls|and|just|also|day|\d) )(?:stop|quit|no more|enough with(?: the)?) (?!stop|being|going|doing (?:it|that)\b)[a-z-]+ing\b/i,
  '1 you keep doing': { pattern: /\byou (?:keep|kept|constantly) (?:on )?[a-z-]+ing\b/i, remedyFollows: true },
  '0.6 said before': /\b(?:second|third|fourth|fifth|nth|\d+(?:st|nd|rd|th)) time\b|\bhow many times\b|\bi(?:'ve| have)? (?:already )?(?:said|told you|asked|mentioned) (?:this|that|it|you)?.{0,20}\b(?:before|already|again)\b|\bi keep (?:saying|telling|asking)\b/i,
  '0.5 this and not that': /\b[\w•/-]+,? (?:not|instead of|rather than) (?!sure|yet|the|that|this|a\b|an\b|my|it\b|in\b|on\b)[\w•-]+/i,
  '1 preference': /\bi(?:'d| would)? (?:much |really |strongly |generally |usually |always |very much )?(?:prefer (?!the |this |that |it\b|option|version|•)(?!.*\bhere[.!]?$)|rather (?:you|(?:have|see|get) (?!the |this |that |it ))|like it when|hate it when|don'?t like it when|don'?t want you to|expect you to)\b/i,
  '0.6 wants, standing': /\bi (?:always |only |never )?(?:want|like|need|expect) [^,]{3,60}\b(?:always|every|each|before|first|separate|split|all)\b/i,
  '0.6 we do it so': /(?:^|[,.:;] ?|\b(?:no|nope|yes|and|but|code ?base|repo|repository|project|team|company|shop) )(?:here )?we (?:don'?t|do not|only|use|stick to|follow|write|keep|prefix|name|deploy|avoid|ban|format|indent|pin|tag|version)\b(?! (?:have|know|need to|want to|care))/i,
  '1 our convention': /\bour (?:[\w-]+ ){0,3}(?:style|convention|rule|policy|standard|practice|guideline)s?\b.{0,30}(?:\bis\b|\bare\b|:)/i,
  '0.6 general things should': /^(?:and |but |so |ok |ugh,? |also |no,? |please |remember,? )*(?!(?:the|this|that|it|we|i|you|there|my|he|she|they|what|who|these|those)\b)(?:(?:an?|any|every|all|each) )?(?:[\w•/-]+ ){1,5}(?:should|must|need to|needs? an?|has to|have to|may not|cannot|can'?t|gets? an?|are always|are never|go(?:es)? [a-z]+|tells?|say)\b/i,
  '0.4 with its limit': /\bunless i\b|\bor (?:it|they) (?:doesn'?t|don'?t|won'?t)\b|\buntil (?:something|i|you|it'?s)\b|, (?:not|never) (?:just )?[\w]+|\bno exceptions?\b/i,
  '0.5 prohibition': /(?:^|[,;:] ?|\b(?:and|so|also|please|pls|but) )(?:don'?t|do not|avoid|no more|refrain from) (?!worry|know|think|have|care|need|want|forget|see|get|like|understand|remember|mind|be\b)[a-z-]+/i,
  '0.7 nothing of the kind': /(?:^|[,;:.] ?|please |that(?:'s|s) (?:the way|it),? )no (?!the|that|this|it|i\b|we\b|not|problem|worries|idea|need|one|way|longer|rush|typo|matter|luck|clue)[\w-]+(?: [\w-]+){0,3} (?:in|for|inside|on|during|from|within|without|please|pls|until)\b/i,
  '0.4 not in general': /\b(?:don'?t|do not|avoid|never) [a-z-]+ (?!(?:that|this|it|the|those|these|my|him|her|them|yet|me)\b)(?:[\w-]+ ){0,2}[\w-]+s\b/i,
  '0.8 on an occasion, do': /\b(?:when|if|before|after) (?!you (?:can'?t|cannot|find|see|are done|want|like|need)|you'?re done)(?:a|an|you|something|there(?:'s| is)|in doubt)\b[^,]{0,60},? (?:please )?(?:i (?:want|need|expect)|don'?t|do|always|never|add|use|run|ask|ping|check|write|find|log|put|make|keep|prefer|tell|update|show|leave)\b/i,
  '1 on such work, do': /(?:^|[,.;:] ?|please )when(?:ever)? (?:you(?:'re| are) )?(?:writing|naming|adding|reviewing|committing|refactoring|testing|answering|explaining|debugging|deploying|merging|creating|documenting|commenting) (?!the\b|this\b|that\b|these\b|those\b|it\b|my\b)[\w -]{2,40}, (?!we\b|i\b|it\b|the\b|this\b|there\b|what|why|how|can\b|could|is\b|does\b)[a-z]+/i,
  '1 what a phrase means': /\bwhen i (?:say|write|ask for|type) .{1,60}\bi (?:mean|want|expect)\b/i,
  '0.8 ask first': /\b(?:ask|check with|ping|tell|confirm with|talk to|warn|show) me (?:first|before|the)\b|\bwithout (?:asking|telling|checking with|my|an? (?:ok|review|approval))\b|\bunless i (?:explicitly )?(?:ask|say|tell)\b|\bkeep asking\b/i,
  '1 ask before': /\bask (?:me )?(?:first )?before (?:you )?(?:ever )?(?:delet|remov|chang|touch|push|deploy|run|drop|merg|overwrit|install|add|publish)|\b(?:tell|show|warn|ping) me [^,.]{0,30}\bbefore (?:you )?(?:ever )?(?:delet|remov|chang|touch|push|deploy|run|drop|merg|overwrit|install|add|publish)[a-z]* (?:any|anything|something|things)\b/i,
  '0.5 before you say so': /\bbefore (?:you (?:tell|say|touch|merge|push|delete|deploy|change|run|commit|release|edit|start|bump|execute)|touching|merging|pushing|deleting|deploying|changing|committing|any)\b/i,
  '1 how to answer': /(?:^|[,.;:] ?|please )(?:don'?t |always |only |just )?(?:answer|reply|respond|explain|talk|write) (?:to me |back )?(?:in|with|as) (?:english|chinese|german|french|spanish|japanese|korean|prose|bullets?|bullet (?:lists|points)|short|plain|full|code)\b/i,
  '1 known already': /\bdon'?t (?:explain|teach|introduce) [\w -]{2,40} to me\b/i,
  '1 short': /(?:^|[,.;] ?|please )keep (?:your |all |any )?(?:answers?|replies|responses|explanations|summaries|commit messages|commits|prs|pull requests|functions|diffs|descriptions|comments) (?:\w+ )?(?:short|brief|concise|small|simple|terse|focused|minimal|to the point)\b/i,
  '1 prefer': /(?:^|[,;:.] ?|please )prefer (?!the\b|this\b|that\b|it\b)[\w -]{3,40} (?:over|to) (?!the\b|this\b|that\b)[\w -]{3,40}(?!.*\bhere[.!]?$)/i,
  '0.6 use it in all': /(?:^|[,;:.] ?|please )use [^,]{3,40}\b(?:in|for|on|with) (?:all|every|any|each) (?!of\b|the\b|these\b|those\b|two\b|three\b|\d)/i,
  '0.3 for a reason that lasts': /\b(?:don'?t|do not|never|avoid|no)\b[^,;]{3,60}[,;] (?:because |since |as )?(?:the|our|other|every|some) [\w -]{2,30} (?:overwrites?|breaks?|rejects?|depends?|relies|reads?|checks?|uses?|expects?|ignores?|needs?|locks?)\b/i,
  '1 a habit': /\bmake it a (?:habit|rule|point)\b|\b(?:make|be) sure (?:you |to )?always\b|\bget (?:in|into) the habit\b/i,
  '0.4 of its own': /\b(?:apply|plan|merging|deploying|that|it|deploys?|releases?) (?:is|are|stays?) mine\b/i,
  '0.7 no need to': /\byou (?:don'?t|do not) (?:have|need) to (?!explain|link|teach|tell|touch|change|fix)[a-z]+/i,
  '0.5 your work': /\byour (?:commits?|commit messages|prs?|pull requests|patches|answers?|replies|messages|summaries|explanations|branch(?:es| names?)|tests|comments|changes|reviews|code|diffs?|output|responses?)\b(?! (?:is|are) (?:in|on|at|here|up)\b)/i,
  '0.4 in all of them': /\b(?:in|for|on|with|to|across) (?:all|every|any) (?!of\b|the\b|this\b|case\b|time\b|day\b|other\b)[\w-]+/i,
  '0.5 never that': /,? never •/,
  '0.6 nowhere': /\bnowhere\b/i,
  '1 less of that': /(?:^|[,.;] ?|please )(?:skip|drop|cut|spare me|lose|ditch|no need for|enough) (?:the |all the |those |your )?(?:[\w-]+ )?(?:tables|summar(?:y|ies)|recaps?|explanations?|pleasantries|intros?|introductions?|preambles?|apolog(?:y|ies)|disclaimers?|emojis?|bullet points?|bullets|small talk|praise|caveats?)\b/i,
  '0.8 too much': { pattern: /\byou(?:'re| are) (?:too|so|way too|being too|overly) (?:verbose|long|wordy|chatty|eager|cautious|fast|aggressive|optimistic|terse|brief)\b|\byour (?:answers|replies|summaries|comments|commits|prs|explanations|messages) are (?:too|way too|far too)\b/i, remedyFollows: true },
  '0.4 at most': /\b(?:max|at most|no more than|no longer than|at least|under|below|above|over) (?:\d+|one|two|three|four|five|ten|\w+) (?:words|sentences|lines|characters|chars|paragraphs|files|columns|minutes|seconds)\b|\b(?:one|two|three|\d+) (?:sentences|lines|words|paragraphs) (?:max|tops|at most)\b/i,
  '0.4 we do things so': /\bwe (?:name|write|use|keep|prefix|tag|pin|format|version|document|review|squash|rebase|merge|release|test) (?:all |our |only )?[a-z-]+s\b/i,
  '0.4 around here': /\b(?:around|round|over) here\b|\bhere,? (?:we|nobody)\b|\bnobody (?:here )?[a-z]+s\b/i,
  '0.9 hands off': /\bkeep your hands off\b|\bhands off\b|\bi do (?:the|all|my) [\w -]{3,30} myself\b|\bthat(?:'s| is) my (?:job|call|part)\b|\bleave (?:that|the [\w -]{3,30}) to me\b/i,
  '0.4 leave or keep': /(?:^|[,.;] ?|please )(?:leave|keep) (?:the |all |any )?[\w -]{3,40} (?:out of|away from|out|alone|separate|in sync|short|small|up to date)\b/i,
  '0.5 yours are': answer(/\byours (?:is|are)\b/i),
  '0.4 call it so': /(?:^|[,.;] ?|please )(?:call|spell|write|name|refer to) (?:it|them|these|those|our)\b/i,
  '0.8 the same next time': answer(/\bsame (?:again )?(?:next time|from now)|\bnext time too\b|\blike (?:that|this) next time\b/i),
  '0.7 good that you': answer(/^(?:\w+[,!.]? )?(?:good|great|nice|glad|perfect|happy) (?:that )?(?:you|how you)\b|\bthanks for (?:asking|checking|flagging|not)\b/i),
  '0.25 learnt the hard way': /\b(?:we had to|had to restore|last time|cost (?:me|us)|we lost|twice already|already twice|once too often)\b/i,
  '0.6 burnt': /\b(?:got|been|were|was) (?:burn(?:ed|t)|bitten)\b|\b(?:burned|bit) us\b|\blearn(?:ed|t) (?:it |that |this )?the hard way\b/i,
  '0.6 time after time': { pattern: /\b(?:second|third|fourth|fifth|nth|\d+(?:st|nd|rd|th)) time (?:now )?(?:that )?you\b/i, remedyFollows: true },
  '1 every such thing needs': /^(?:\w+[,:] )*(?:every|each|any|all) (?!time|day|now|the|of|i\b|we\b|this|that)[\w -]{2,40}?\b(?:needs?|gets?|must|should|has to|have to|comes? with|goes|go|requires?)\b/i,
  '0.9 always, at the end': /,? always[.!]*$/i,
  '0.7 names should': /^(?:the |your |our )?(?:[\w-]+ )?(?:names|messages|titles|descriptions|comments|tests|commits|prs|branches|docs|docstrings|errors|logs|summaries|answers) (?:should|must|need to|have to)\b/i,
  '0.3 says nothing': /\btells? (?:me|us|nobody|you) nothing\b|\b(?:unreadable|useless|noise|pointless|annoying)\b/i,
  '1 needs no explanation': /\bi (?:don'?t|do not) (?:need|want) (?:the |an? |your |any |all the |these )?(?:[\w-]+ )?(?:explanations?|summar(?:y|ies)|recaps?|intros?|background|lectures?|tutorials?|preambles?|apolog(?:y|ies)|disclaimers?|theory|alternatives?)\b/i,
  '1 all I want': answer(/\b(?:that'?s|is) all i (?:ever )?(?:want|need|ask)\b/i),
  '0.9 more often': answer(/\b(?:do|try) (?:it|that|this) more(?: often)?\b|\bmore of (?:that|this)\b/i),
  '0.7 rather than': /\bi(?:'d| would) rather [a-z]+ .{2,40}\bthan\b/i,
  '0.4 yours under': /\bkeep (?:yours|your [\w-]+|the (?:pr|commit|branch|test) \w+|them|prs|branches|commits|answers|functions|files) (?:under|below|short|small|above|in|at)\b/i,
  '0.4 careful with': /(?:^|[,.] ?)(?:be )?careful with\b|\bwatch out (?:for|with)\b/i,
  '1 is never ok': { pattern: /\b(?:is|are) never (?:ok|okay|fine|acceptable|allowed|an option|the answer)\b/i, remedyFollows: true },
  '0.9 how to be': /\bbe (?:blunt|honest|direct|strict|brief|concise|terse|explicit|harsh|critical) (?:with me|in|about|when)\b|\bdon'?t (?:soften|sugar-?coat|sugarcoat)\b/i,
  '0.5 needs none': /\bi (?:don'?t|do not) need (?:the|your|any|all the) [\w-]+/i,
  '0.8 we no longer': /\bwe (?:stopped|quit|gave up) (?:using|doing|writing|supporting)\b|\bwe no longer (?:use|do|write|accept|allow)\b/i,
  '0.5 things are so': /^(?:and |but |so |also )?(?!(?:the|this|that|it|we|i|you|there|my|these|those|tests|yes|users)\b)[a-z-]+(?: [a-z-]+)?s (?:start|end|begin|use|have|carry|follow|take|stay|come) /i,
  '0.9 exactly right': answer(/\b(?:exactly|absolutely|quite) right to\b|\bright to (?:leave|ask|wait|stop|skip|keep|check)\b/i),
})

const LEAD = '(?:(?:no|nope|nah|yes|please|ugh|hey|hm+|also|and|but|ok|okay)[,.! ]+)*'
const ONE_THING = '(?:the|this|that|these|those|it|my|your|here|there|we|i|you)\\b'
/** What people make and have to read, by the dozen. */
const WORKS =
  '(?:files|comments|mocks|globals|macros|singletons|abbreviations|acronyms|names|classes|functions|tests|docs|docstrings|commits|branches|prs|diffs|imports|exports|one-liners|ternaries|decorators|wrappers|helpers|snapshots|fixtures|stubs|emojis|bullets|tables|logs|annotations|hooks|scripts)'

/** Rules in few words: people answer what was done with hardly a verb ("explicit joins over subqueries"), or say why they cannot work with it. */
// biome-ignore format: a row a line
const terse: readonly Cue[] = cuesOf('feedback', {
  '1 one for each': answer(new RegExp(`^${LEAD}(?:only |just )?(?:one|two|three|\\d|a single) [\\w-]+(?: [\\w-]+)? per (?:pr|pull request|commit|file|migration|branch|ticket|test|release|module|class|function|change|message|answer|line|issue)\\b`, 'i')),
  '1 one kind over another': answer(new RegExp(`^${LEAD}(?!${ONE_THING})[\\w-]+ (?:[\\w-]+ )?(?!(?:iterates|loops|runs|goes|passes|ranges|maps|walks|takes|hands|rolls|spills|hovers|carries|is|was|has)\\b)[\\w-]+s over (?!${ONE_THING}|\\d)[\\w -]{3,40}s\\b`, 'i')),
  '0.7 only such things': answer(new RegExp(`^${LEAD}(?!${ONE_THING})[\\w-]+(?: [\\w-]+)? (?!this|its|his)[\\w-]+s only(?=[,.;]|$)`, 'i')),
  '0.7 so many for such things': answer(new RegExp(`^${LEAD}(?:one|two|three|four|\\d) [\\w-]+(?: [\\w-]+)? (?:for|between|in|before|after) (?!${ONE_THING})[\\w -]{3,30}, `, 'i')),
  '1 scope: so that I can follow': answer(/\botherwise i (?:can'?t|cannot|get|lose|never) (?:really )?(?:follow|judge|check|review|read|understand|compare|verify|lost|track|trust)\b(?!.*\b(?:it|this|that)[.!]?$)|\bi (?:can'?t|cannot|get|lose|never) (?:really )?(?:follow|judge|check|review|read|understand|compare|verify|lost|track)\b(?: them| those| anything)? otherwise\b/i),
  '0.5 because of me': /^(?!.*\u2402)(?:(?!\b(?:it|this|that|these|those|the|yet)\b)[^, ]+ ){3,}(?!it\b|this\b|that\b)[^, ]+, i (?:can'?t|cannot|won'?t) (?:review|read|follow|understand|check|track|compare|use|open)\b/i,
  '1 dislikes such work': { pattern: new RegExp(`\\bi (?:really |just )?(?:hate|can'?t stand|dislike|loathe|detest|am not a fan of) (?!${ONE_THING})(?:[\\w-]+ ){0,2}${WORKS}\\b`, 'i'), remedyFollows: true, answers: true },
  '0.5 ever, at the end': /\b(?:no|not|don'?t|never)\b.{5,80}, ever[.!]*$/i,
  '0.3 none of such in such': new RegExp(`(?:^|[,;:.] ?|please )no (?!errors|changes|results|differences|hits|matches|issues|problems|failures|warnings|entries|rows|bugs|users|signs|traces)[\\w -]{2,30}s (?:in|on|inside|from|within) (?!${ONE_THING})(?:[\\w-]+ )?[\\w-]{2,30}s(?=[,.;!]|$| please)`, 'i'),
  '0.5 in its own': /\b(?:its|their) own (?:commit|pr|pull request|file|branch|module|folder|test|line|section|release|package|ticket|migration)s?\b/i,
  '0.5 we do this, we do not do that': /\bwe (?!don'?t|do not|can|could|should|need|have|are|were|had|got|just)[a-z]+ (?!the\b|this\b|that\b|it\b)[^,.?!]{2,50}, (?:and |but )?we (?:don'?t|do not|never) [a-z]+/i,
})

/** What a person says of an approach they want to see again. */
// biome-ignore format: a row a line
const confirmations: readonly Cue[] = cuesOf('feedback', {
  '1 right call': /\b(?:right|good|great|smart|excellent|correct|nice|solid) (?:call|move|choice|instinct|decision|approach|way|thinking)\b/i,
  '1 as I like it': /\b(?:that'?s|this is|is|exactly) (?:exactly |just )?(?:how|what|the way) i (?:like|want|need|prefer)\b|^that'?s the way\b|\bjust how i\b/i,
  '0.8 keep doing': /\b(?:keep|continue) (?:on )?(?:doing|asking|using|writing|splitting|making|adding|putting|working|it up|that up|them|it) ?(?:it|that|this|like|so|small|up|before|like that)?\b(?! running\b)/i,
  '0.9 stay with it': /\bstick (?:with|to) (?:it|this|that)\b|\b(?:more|all) of (?:that|this) please\b|\bdo (?:that|this|it) (?:again|like (?:that|this)) (?:next|in)\b/i,
  '1 liked': /\bi (?:really |do )?(?:like|love|appreciate)d? (?:that|how|the way|when) you\b/i,
  '0.7 loved': /^(?:(?:nice|great|perfect|yes|yep|ok|haha|oh)[,!.]? )*(?:love|loving|really like|i like) (?:the|how|that|this)\b/i,
  '0.7 perfect for': /\bis (?:perfect|great|ideal|exactly right) for\b/i,
  '0.6 fine so': /\b(?:is|are) (?:fine|ok|okay|good) (?:by|with|for) me\b|\blike you did\b/i,
  '0.4 yes, exactly so': /^(?:yes|yep|yeah|right|correct|exactly|perfect|good|nice|great)[,.! ]+(?:exactly|always|keep|one|small|that)\b/i,
})

export const feedback: readonly Cue[] = [
  ...explicit,
  ...standing,
  ...terse,
  ...confirmations.map((cue) => ({ ...cue, answers: true as const })),
]
