/** How a person wants to be worked with: standing rules, corrections that will hold, confirmations of an approach. */
import type { Cue } from './cue.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'feedback', weight, pattern })

export const feedback: readonly Cue[] = [
  cue(
    'scope: from now on',
    1,
    /\b(?:from now on(?! it'?s)|from here on(?! (?:it|the|this|that|everything|all)\b)|going forward(?! step| with| to)|henceforth|in (?:the )?future(?! (?:releases|versions|updates|sprints|quarters|iterations)\b)|as a rule|rule of thumb|for (?:all|every|future) sessions?|all sessions|from (?:this|that) point on)\b/i,
  ),
  cue(
    'scope: in general',
    1,
    /(?:^|[,.:;] ?|and |but )(?:in general|generally|as a general rule)[,: ] ?(?!this|that|it\b|i think|looks|speaking|fine|good)/i,
  ),
  cue(
    'scope: every time',
    0.9,
    /\b(?:every|each) (?:single )?time\b(?! (?:i|it|this|we)\b)|\b(?:any ?time|whenever) (?:you|we|something|a|an|there)\b|\bno exceptions?\b/i,
  ),
  cue(
    'scope: for every such thing',
    0.7,
    /\b(?:do|did|want|like|use|need|keep) (?:that|this|it|one|these)? ?(?:for|in|on|with|to) (?:every|each|all|any)\b/i,
  ),
  cue(
    'scope: this repository',
    0.5,
    /\b(?:(?:anywhere|everywhere) in (?:this|the|our)|(?:in|for|across) (?:this|our)) (?:whole |entire )?(?:repo|repository|code ?base|project|org|organi[sz]ation|team|company|monorepo|shop)\b|\beverywhere\b/i,
  ),
  cue('scope: by default', 0.6, /\bby default\b/i),
  cue(
    'always or never, as an order',
    1,
    /(?:^|[,:;—–] ?|\b(?:and|but|so|please|pls|remember|no|yes|also)[,:]? )(?:always|never|don'?t ever|do not ever|only ever|at no point) (?!mind|gonna|ever|(?!need|embed|feed|seed|shed|shred|proceed|exceed|speed|heed|breed)[a-z]+ed\b|said|heard|seen|knew|thought|work|pass|a |an |the |been|had|got |happen|show up|on |in |at |there|here|so |such|learn|again)[a-z-]{2,}/i,
  ),
  cue(
    'we always or never',
    0.8,
    /\bwe (?:always|never|only ever)\b(?! (?:got|had|heard|knew|said|agreed|decided|did))/i,
  ),
  cue(
    'things that are always or never so',
    0.6,
    /^(?:[\w,'-]+ ){0,8}(?:always|never) (?:has|have|gets?|goes|go|with|hits?|uses?|runs?|needs?|comes?|lives?|carry|carries|includes?|contains?|returns?|[\p{Script=Han}])/iu,
  ),
  cue('never, after the thing', 0.7, /,\s*never[.!]*$/i),
  {
    ...cue(
      'is never right',
      1,
      /\b(?:is|are) (?:never|not) (?:ok|okay|fine|acceptable|allowed|an option) ?(?:anywhere|here|in (?:this|our)|from here|for us|to)?\b(?=.*(?:anywhere|here|repo|code ?base|never))/i,
    ),
    remedyFollows: true,
  },
  cue(
    'stop doing',
    1,
    /(?:^|[,.:;\u2402] ?|\b(?:please|pls|and|just|also|day|\d) )(?:stop|quit|no more|enough with(?: the)?) (?!stop|being|going|doing (?:it|that)\b)[a-z-]+ing\b/i,
  ),
  { ...cue('you keep doing', 1, /\byou (?:keep|kept|constantly) (?:on )?[a-z-]+ing\b/i), remedyFollows: true },
  cue(
    'said before',
    0.6,
    /\b(?:second|third|fourth|fifth|nth|\d+(?:st|nd|rd|th)) time\b|\bhow many times\b|\bi(?:'ve| have)? (?:already )?(?:said|told you|asked|mentioned) (?:this|that|it|you)?.{0,20}\b(?:before|already|again)\b|\bi keep (?:saying|telling|asking)\b/i,
  ),
  cue(
    'this and not that',
    0.5,
    /\b[\w•/-]+,? (?:not|instead of|rather than) (?!sure|yet|the|that|this|a\b|an\b|my|it\b|in\b|on\b)[\w•-]+/i,
  ),
  cue(
    'preference',
    1,
    /\bi(?:'d| would)? (?:much |really |strongly |generally |usually |always |very much )?(?:prefer (?!the |this |that |it\b|option|version|•)(?!.*\bhere[.!]?$)|rather (?:you|(?:have|see|get) (?!the |this |that |it ))|like it when|hate it when|don'?t like it when|don'?t want you to|expect you to)\b/i,
  ),
  cue(
    'wants, standing',
    0.6,
    /\bi (?:always |only |never )?(?:want|like|need|expect) [^,]{3,60}\b(?:always|every|each|before|first|separate|split|all)\b/i,
  ),
  cue(
    'we do it so',
    0.6,
    /(?:^|[,.:;] ?|\b(?:no|nope|yes|and|but|code ?base|repo|repository|project|team|company|shop) )(?:here )?we (?:don'?t|do not|only|use|stick to|follow|write|keep|prefix|name|deploy|avoid|ban|format|indent|pin|tag|version)\b(?! (?:have|know|need to|want to|care))/i,
  ),
  cue(
    'our convention',
    1,
    /\bour (?:[\w-]+ ){0,3}(?:style|convention|rule|policy|standard|practice|guideline)s?\b.{0,30}(?:\bis\b|\bare\b|:)/i,
  ),
  cue(
    'general things should',
    0.6,
    /^(?:and |but |so |ok |ugh,? |also |no,? |please |remember,? )*(?!(?:the|this|that|it|we|i|you|there|my|he|she|they|what|who|these|those)\b)(?:(?:an?|any|every|all|each) )?(?:[\w•/-]+ ){1,5}(?:should|must|need to|needs? an?|has to|have to|may not|cannot|can'?t|gets? an?|are always|are never|go(?:es)? [a-z]+|tells?|say)\b/i,
  ),
  cue(
    'with its limit',
    0.4,
    /\bunless i\b|\bor (?:it|they) (?:doesn'?t|don'?t|won'?t)\b|\buntil (?:something|i|you|it'?s)\b|, (?:not|never) (?:just )?[\w]+|\bno exceptions?\b/i,
  ),
  cue(
    'prohibition',
    0.5,
    /(?:^|[,;:] ?|\b(?:and|so|also|please|pls|but) )(?:don'?t|do not|avoid|no more|refrain from) (?!worry|know|think|have|care|need|want|forget|see|get|like|understand|remember|mind|be\b)[a-z-]+/i,
  ),
  cue(
    'nothing of the kind',
    0.7,
    /(?:^|[,;:.] ?|please |that(?:'s|s) (?:the way|it),? )no (?!the|that|this|it|i\b|we\b|not|problem|worries|idea|need|one|way|longer|rush|typo|matter|luck|clue)[\w-]+(?: [\w-]+){0,3} (?:in|for|inside|on|during|from|within|without|please|pls|until)\b/i,
  ),
  cue(
    'not in general',
    0.4,
    /\b(?:don'?t|do not|avoid|never) [a-z-]+ (?!(?:that|this|it|the|those|these|my|him|her|them|yet|me)\b)(?:[\w-]+ ){0,2}[\w-]+s\b/i,
  ),
  cue(
    'on an occasion, do',
    0.8,
    /\b(?:when|if|before|after) (?!you (?:can'?t|cannot|find|see|are done|want|like|need)|you'?re done)(?:a|an|you|something|there(?:'s| is)|in doubt)\b[^,]{0,60},? (?:please )?(?:i (?:want|need|expect)|don'?t|do|always|never|add|use|run|ask|ping|check|write|find|log|put|make|keep|prefer|tell|update|show|leave)\b/i,
  ),
  cue(
    'on such work, do',
    1,
    /(?:^|[,.;:] ?|please )when(?:ever)? (?:you(?:'re| are) )?(?:writing|naming|adding|reviewing|committing|refactoring|testing|answering|explaining|debugging|deploying|merging|creating|documenting|commenting) (?!the\b|this\b|that\b|these\b|those\b|it\b|my\b)[\w -]{2,40}, (?!we\b|i\b|it\b|the\b|this\b|there\b|what|why|how|can\b|could|is\b|does\b)[a-z]+/i,
  ),
  cue('what a phrase means', 1, /\bwhen i (?:say|write|ask for|type) .{1,60}\bi (?:mean|want|expect)\b/i),
  cue(
    'ask first',
    0.8,
    /\b(?:ask|check with|ping|tell|confirm with|talk to|warn|show) me (?:first|before|the)\b|\bwithout (?:asking|telling|checking with|my|an? (?:ok|review|approval))\b|\bunless i (?:explicitly )?(?:ask|say|tell)\b|\bkeep asking\b/i,
  ),
  cue(
    'ask before',
    1,
    /\bask (?:me )?(?:first )?before (?:you )?(?:ever )?(?:delet|remov|chang|touch|push|deploy|run|drop|merg|overwrit|install|add|publish)|\b(?:tell|show|warn|ping) me [^,.]{0,30}\bbefore (?:you )?(?:ever )?(?:delet|remov|chang|touch|push|deploy|run|drop|merg|overwrit|install|add|publish)[a-z]* (?:any|anything|something|things)\b/i,
  ),
  cue(
    'before you say so',
    0.5,
    /\bbefore (?:you (?:tell|say|touch|merge|push|delete|deploy|change|run|commit|release|edit|start|bump|execute)|touching|merging|pushing|deleting|deploying|changing|committing|any)\b/i,
  ),
  cue(
    'how to answer',
    1,
    /(?:^|[,.;:] ?|please )(?:don'?t |always |only |just )?(?:answer|reply|respond|explain|talk|write) (?:to me |back )?(?:in|with|as) (?:english|chinese|german|french|spanish|japanese|korean|prose|bullets?|bullet (?:lists|points)|short|plain|full|code)\b/i,
  ),
  cue('known already', 1, /\bdon'?t (?:explain|teach|introduce) [\w -]{2,40} to me\b/i),
  cue(
    'short',
    1,
    /(?:^|[,.;] ?|please )keep (?:your |all |any )?(?:answers?|replies|responses|explanations|summaries|commit messages|commits|prs|pull requests|functions|diffs|descriptions|comments) (?:\w+ )?(?:short|brief|concise|small|simple|terse|focused|minimal|to the point)\b/i,
  ),
  cue(
    'prefer',
    1,
    /(?:^|[,;:.] ?|please )prefer (?!the\b|this\b|that\b|it\b)[\w -]{3,40} (?:over|to) (?!the\b|this\b|that\b)[\w -]{3,40}(?!.*\bhere[.!]?$)/i,
  ),
  cue(
    'use it in all',
    0.6,
    /(?:^|[,;:.] ?|please )use [^,]{3,40}\b(?:in|for|on|with) (?:all|every|any|each) (?!of\b|the\b|these\b|those\b|two\b|three\b|\d)/i,
  ),
  cue(
    'for a reason that lasts',
    0.3,
    /\b(?:don'?t|do not|never|avoid|no)\b[^,;]{3,60}[,;] (?:because |since |as )?(?:the|our|other|every|some) [\w -]{2,30} (?:overwrites?|breaks?|rejects?|depends?|relies|reads?|checks?|uses?|expects?|ignores?|needs?|locks?)\b/i,
  ),
  cue(
    'a habit',
    1,
    /\bmake it a (?:habit|rule|point)\b|\b(?:make|be) sure (?:you |to )?always\b|\bget (?:in|into) the habit\b/i,
  ),
  cue('of its own', 0.4, /\b(?:apply|plan|merging|deploying|that|it|deploys?|releases?) (?:is|are|stays?) mine\b/i),
  cue(
    'no need to',
    0.7,
    /\byou (?:don'?t|do not) (?:have|need) to (?!explain|link|teach|tell|touch|change|fix)[a-z]+/i,
  ),
  cue(
    'your work',
    0.5,
    /\byour (?:commits?|commit messages|prs?|pull requests|patches|answers?|replies|messages|summaries|explanations|branch(?:es| names?)|tests|comments|changes|reviews|code|diffs?|output|responses?)\b(?! (?:is|are) (?:in|on|at|here|up)\b)/i,
  ),
  cue(
    'in all of them',
    0.4,
    /\b(?:in|for|on|with|to|across) (?:all|every|any) (?!of\b|the\b|this\b|case\b|time\b|day\b|other\b)[\w-]+/i,
  ),
  cue('never that', 0.5, /,? never •/),
  cue('nowhere', 0.6, /\bnowhere\b/i),
  cue(
    'less of that',
    1,
    /(?:^|[,.;] ?|please )(?:skip|drop|cut|spare me|lose|ditch|no need for|enough) (?:the |all the |those |your )?(?:[\w-]+ )?(?:tables|summar(?:y|ies)|recaps?|explanations?|pleasantries|intros?|introductions?|preambles?|apolog(?:y|ies)|disclaimers?|emojis?|bullet points?|bullets|small talk|praise|caveats?)\b/i,
  ),
  {
    ...cue(
      'too much',
      0.8,
      /\byou(?:'re| are) (?:too|so|way too|being too|overly) (?:verbose|long|wordy|chatty|eager|cautious|fast|aggressive|optimistic|terse|brief)\b|\byour (?:answers|replies|summaries|comments|commits|prs|explanations|messages) are (?:too|way too|far too)\b/i,
    ),
    remedyFollows: true,
  },
  cue(
    'at most',
    0.4,
    /\b(?:max|at most|no more than|no longer than|at least|under|below|above|over) (?:\d+|one|two|three|four|five|ten|\w+) (?:words|sentences|lines|characters|chars|paragraphs|files|columns|minutes|seconds)\b|\b(?:one|two|three|\d+) (?:sentences|lines|words|paragraphs) (?:max|tops|at most)\b/i,
  ),
  cue(
    'we do things so',
    0.4,
    /\bwe (?:name|write|use|keep|prefix|tag|pin|format|version|document|review|squash|rebase|merge|release|test) (?:all |our |only )?[a-z-]+s\b/i,
  ),
  cue('around here', 0.4, /\b(?:around|round|over) here\b|\bhere,? (?:we|nobody)\b|\bnobody (?:here )?[a-z]+s\b/i),
  cue(
    'hands off',
    0.9,
    /\bkeep your hands off\b|\bhands off\b|\bi do (?:the|all|my) [\w -]{3,30} myself\b|\bthat(?:'s| is) my (?:job|call|part)\b|\bleave (?:that|the [\w -]{3,30}) to me\b/i,
  ),
  cue(
    'leave or keep',
    0.4,
    /(?:^|[,.;] ?|please )(?:leave|keep) (?:the |all |any )?[\w -]{3,40} (?:out of|away from|out|alone|separate|in sync|short|small|up to date)\b/i,
  ),
  { ...cue('yours are', 0.5, /\byours (?:is|are)\b/i), answers: true },
  cue('call it so', 0.4, /(?:^|[,.;] ?|please )(?:call|spell|write|name|refer to) (?:it|them|these|those|our)\b/i),
  {
    ...cue(
      'the same next time',
      0.8,
      /\bsame (?:again )?(?:next time|from now)|\bnext time too\b|\blike (?:that|this) next time\b/i,
    ),
    answers: true,
  },
  {
    ...cue(
      'good that you',
      0.7,
      /^(?:\w+[,!.]? )?(?:good|great|nice|glad|perfect|happy) (?:that )?(?:you|how you)\b|\bthanks for (?:asking|checking|flagging|not)\b/i,
    ),
    answers: true,
  },
  cue(
    'learnt the hard way',
    0.25,
    /\b(?:we had to|had to restore|last time|cost (?:me|us)|we lost|twice already|already twice|once too often)\b/i,
  ),
  cue(
    'burnt',
    0.6,
    /\b(?:got|been|were|was) (?:burn(?:ed|t)|bitten)\b|\b(?:burned|bit) us\b|\blearn(?:ed|t) (?:it |that |this )?the hard way\b/i,
  ),
  {
    ...cue(
      'time after time',
      0.6,
      /\b(?:second|third|fourth|fifth|nth|\d+(?:st|nd|rd|th)) time (?:now )?(?:that )?you\b/i,
    ),
    remedyFollows: true,
  },
  cue(
    'every such thing needs',
    1,
    /^(?:\w+[,:] )*(?:every|each|any|all) (?!time|day|now|the|of|i\b|we\b|this|that)[\w -]{2,40}?\b(?:needs?|gets?|must|should|has to|have to|comes? with|goes|go|requires?)\b/i,
  ),
  cue('always, at the end', 0.9, /,? always[.!]*$/i),
  cue(
    'names should',
    0.7,
    /^(?:the |your |our )?(?:[\w-]+ )?(?:names|messages|titles|descriptions|comments|tests|commits|prs|branches|docs|docstrings|errors|logs|summaries|answers) (?:should|must|need to|have to)\b/i,
  ),
  cue(
    'says nothing',
    0.3,
    /\btells? (?:me|us|nobody|you) nothing\b|\b(?:unreadable|useless|noise|pointless|annoying)\b/i,
  ),
  cue(
    'needs no explanation',
    1,
    /\bi (?:don'?t|do not) (?:need|want) (?:the |an? |your |any |all the |these )?(?:[\w-]+ )?(?:explanations?|summar(?:y|ies)|recaps?|intros?|background|lectures?|tutorials?|preambles?|apolog(?:y|ies)|disclaimers?|theory|alternatives?)\b/i,
  ),
  { ...cue('all I want', 1, /\b(?:that'?s|is) all i (?:ever )?(?:want|need|ask)\b/i), answers: true },
  {
    ...cue('more often', 0.9, /\b(?:do|try) (?:it|that|this) more(?: often)?\b|\bmore of (?:that|this)\b/i),
    answers: true,
  },
  cue('rather than', 0.7, /\bi(?:'d| would) rather [a-z]+ .{2,40}\bthan\b/i),
  cue(
    'yours under',
    0.4,
    /\bkeep (?:yours|your [\w-]+|the (?:pr|commit|branch|test) \w+|them|prs|branches|commits|answers|functions|files) (?:under|below|short|small|above|in|at)\b/i,
  ),
  cue('careful with', 0.4, /(?:^|[,.] ?)(?:be )?careful with\b|\bwatch out (?:for|with)\b/i),
  {
    ...cue('is never ok', 1, /\b(?:is|are) never (?:ok|okay|fine|acceptable|allowed|an option|the answer)\b/i),
    remedyFollows: true,
  },
  cue(
    'how to be',
    0.9,
    /\bbe (?:blunt|honest|direct|strict|brief|concise|terse|explicit|harsh|critical) (?:with me|in|about|when)\b|\bdon'?t (?:soften|sugar-?coat|sugarcoat)\b/i,
  ),
  cue('needs none', 0.5, /\bi (?:don'?t|do not) need (?:the|your|any|all the) [\w-]+/i),
  cue(
    'we no longer',
    0.8,
    /\bwe (?:stopped|quit|gave up) (?:using|doing|writing|supporting)\b|\bwe no longer (?:use|do|write|accept|allow)\b/i,
  ),
  cue(
    'things are so',
    0.5,
    /^(?:and |but |so |also )?(?!(?:the|this|that|it|we|i|you|there|my|these|those|tests|yes|users)\b)[a-z-]+(?: [a-z-]+)?s (?:start|end|begin|use|have|carry|follow|take|stay|come) /i,
  ),
  {
    ...cue(
      'exactly right',
      0.9,
      /\b(?:exactly|absolutely|quite) right to\b|\bright to (?:leave|ask|wait|stop|skip|keep|check)\b/i,
    ),
    answers: true,
  },
]

/** What a person says of an approach they want to see again. Only an answer can say it. */

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
