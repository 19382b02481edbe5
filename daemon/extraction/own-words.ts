/**
 * Leaves of a message what the person typed in it: code, logs, quotes, mails, chats and other pasted text go, line by line.
 * Rules in pasted text are not the person's. Pure; linear in the text.
 */
import { relativeDatesIn } from './dates/dates.ts'
import { ADDRESS_MARK, DATE_MARK, SYSTEM_MARK } from './rules/cue.ts'

/** Longer own words are a document: people say what they want before or after it. */
const CAP_OWN_UNITS = 6_000
const EDGE_UNITS = 1_500
/** A longer line was pasted. */
const CAP_LINE_UNITS = 3_000

const LOOKED_UNITS = 8_000

const FENCE = /^[ \t]{0,8}(```|~~~|""")/
const LOG_OR_TRACE =
  /^\s*(?:at [\w$.<]|File "|Traceback \(|Caused by:|\.\.\. \d+ more|(?:[\w$]+\.)*[A-Z]\w*(?:Exception|Error|Warning)\b:|\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d(?::\d\d)?\]? |\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|TRACE)\b|npm (?:ERR|WARN)|error(?:\[\w+\])?: |warning: |thread '|Error response from|\d+ \|)/
const CHAT = /^\s*(?:\[?\d\d?:\d\d(?::\d\d)?(?: ?[ap]m)?\]? ?<?[\w.-]+>?:|<[\w.-]+> )/i
const CODE =
  /^\s*(?:\/\/|\/\*|\*\/|#(?!\d|[a-z]+-)|--(?: |$)(?!.*[a-z]+ [a-z]+ [a-z]+ [a-z]+)|<\/?[a-z!]|[$%] \S|[@+-]{2,}|[{}()[\];]+\s*$|(?:import|export|const|let|var|def|class|public|private|protected|static|return|function|func|fn|package|#include|using)\s+[\w{*"'$]|(?:select|insert into|update|delete from|create (?:table|index)|alter table)\s.*|["'{[].*["'}\]],?\s*$|["']?[\w.-]+["']?\s*[:=]\s*["'[{]?[\w./:-]*["'\]}]?,?\s*$)|[{;]\s*$|^\s*[\w.]+\([^)]*\)[;{]?\s*$/i
const MAIL_HEADER = /^(?:From|To|Cc|Subject|Sent|发件人|收件人|主题)[:：] ?\S/
const SALUTATION =
  /^\s*(?:hi|hello|dear|hey) (?:all|everyone|team|there|[A-Z][a-z]+),?\s*$|^\s*(?:各位|尊敬的|亲爱的|大家好).{0,12}[：:，,]?\s*$/
const HEADING = /^#{1,6} \S/

/** `pasted`: all the rest. */
export type Parted = { own: string; pasted: string }

export function ownWords(text: string): string {
  return ownOf(text, NOTHING)
}

/** The same for who asks whose words they are, and not what is stated: what begins like code and reads like a sentence is theirs. */
export function partedWords(text: string): Parted {
  const pasted: string[] = []
  const own = ownOf(text, { isSpared: readsLikeProse, drop: (lines) => void pasted.push(lines) })
  return { own, pasted: pasted.join('\n') }
}

/** `isSpared`: what is theirs though it begins like code. `drop`: has what is not theirs. */
type Minded = { isSpared: (line: string) => boolean; drop: (lines: string) => void }

const NOTHING: Minded = { isSpared: () => false, drop: () => {} }

function ownOf(text: string, { isSpared, drop }: Minded): string {
  const own: string[] = []
  let fence: string | undefined
  let skipping: 'paragraph' | undefined
  let inCode = false
  let at = 0
  for (const typed of text.split('\n')) {
    const from = at
    at += typed.length + 1
    const line = typed.endsWith('\r') ? typed.slice(0, -1) : typed
    const amid = at > LOOKED_UNITS && at < text.length - LOOKED_UNITS
    const mark = FENCE.exec(line)?.[1]
    if (fence !== undefined) {
      drop(line)
      if (mark === fence || line.trimEnd().endsWith(fence)) fence = undefined
      continue
    }
    if (mark !== undefined) {
      drop(line)
      if (!line.slice(line.indexOf(mark) + mark.length).includes(mark)) fence = mark
      own.push('')
      continue
    }
    // Of a long text only its ends are looked at, and all of its fences.
    if (amid) {
      drop(line)
      continue
    }
    if (line.trim() === '') skipping = undefined
    // A letter has no end that one could see.
    if (MAIL_HEADER.test(line) || SALUTATION.test(line)) {
      drop(text.slice(from))
      break
    }
    if (/^(?:diff --git|Index:|---\s|\+\+\+ |@@ )/.test(line) || HEADING.test(line)) skipping = 'paragraph'
    // What is indented below a line of code is code as well.
    inCode = isPasted(line, isSpared) || (inCode && /^\s{2,}\S/.test(line))
    if (skipping || inCode) {
      drop(line)
      own.push('')
      continue
    }
    own.push(line)
  }
  const typed = own
    .join('\n')
    .replace(/\n{2,}/g, '\n')
    .trim()
  const kept = capped(typed)
  if (kept !== typed) drop(typed)
  return kept
}

function isPasted(line: string, isSpared: (line: string) => boolean): boolean {
  if (line.length > CAP_LINE_UNITS || /[!-~]{300}/.test(line)) return true
  if (/^\s*(?:>|\|)/.test(line) || /^(?: {4}|\t)/.test(line)) return true
  return LOG_OR_TRACE.test(line) || CHAT.test(line) || (CODE.test(line) && !isSpared(line))
}

/** "Update the changelog with every release", or an address alone on its line. */
function readsLikeProse(line: string): boolean {
  if (/^\s*https?:\/\/\S+\s*$/.test(line)) return true
  return !/[{}=<>;]|\)\s*$/.test(line) && (line.match(/[\p{L}']{2,}/gu) ?? []).length >= 4
}

function capped(text: string): string {
  if (text.length <= CAP_OWN_UNITS) return text
  const first = text.slice(0, EDGE_UNITS)
  const last = text.slice(-EDGE_UNITS)
  return `${first.slice(0, first.lastIndexOf('\n') + 1)}\n${last.slice(last.indexOf('\n') + 1)}`
}

export type Sentence = {
  /** As typed. */
  said: string
  /** The same with quotes and code blanked, dates, addresses and systems marked: what cues are looked for in. */
  heard: string
}

/** No cue has this sign; a name in quotes shows as a row of it. */
const BLANK = '•'

/** Not every dot ends a sentence: versions, hosts, files and what is usually shortened. */
const BREAK =
  /(?<=[。！？；\n])|(?<=[!?](?:["')\]]|\s*))(?=\s+\S)|(?<=(?<!\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|cf))[.;…]["')\]]?)\s+(?=\S)/i

/** More sentences than these are a text, not a message. */
const CAP_SENTENCES = 60

/** Own words in sentences; in each, what is mentioned and not said is blanked out: quotes, code, dates. */
export function sentencesIn(text: string): Sentence[] {
  return text
    .split(BREAK)
    .flatMap((part) => part.split(ASIDE))
    .map((part) => part.replace(/^[\s,，。.;；:：)\]-]+/u, '').trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .slice(0, CAP_SENTENCES)
    .map((said) => ({ said, heard: heard(said) }))
}

/** A new thought that people tie to the last one with nothing but a comma or a dash. */
const ASIDE =
  /(?:,|，| -+| —)\s+(?=(?:ok(?:ay)? )?(?:now|anyway|anyways|can you|could you|would you|back to|also (?:the|fix|please|can)|btw)\b)|(?:,|，)\s*(?=(?:顺便|现在先|今天先|你帮我|帮我|today 先))/i

function heard(said: string): string {
  const blanked = said
    .replace(/`[^`]*`|"[^"]*"|“[^”]*”|「[^」]*」|『[^』]*』|(?<![\w])'[^'\n]{2,}'(?!\w)|‘[^’\n]{2,}’(?!\w)/g, (quote) =>
      BLANK.repeat(quote.length),
    )
    .replace(/\b\d{4}-\d\d-\d\d\b/g, DATE_MARK)
  let marked = blanked
  for (const date of relativeDatesIn(blanked)) marked = marked.replace(date, ` ${DATE_MARK} `)
  return markPlaces(marked).replace(/ {2,}/g, ' ').replace(/’/g, "'").trim()
}

/**
 * Outside systems by name, and what an address looks like. Where a sentence has one it gets a mark, so that the cues need
 * not know them all, and no cue is found inside an address. Extend freely: a name alone decides nothing.
 */
const systems = `
  1password, airtable, altium 365, altium, amplitude, apifox, app store connect, argocd, artifactory, asana,
  aws console, azure blob, backstage, bamboohr, bigquery, bitwarden, browserstack, bugsnag, bugzilla, buildkite,
  calendar, chromatic, circleci, clickup, cloudwatch, coda, confluence, crashlytics, dashboard, databricks,
  datadog, dataverse, discord, docusign, doppler, dropbox, figma, firebase console, freshdesk, gcs, gdrive,
  gitbook, github discussions, github issues, github project, github projects, github wiki, gitlab issues,
  gitlab wiki, google doc, google docs, google drive, google group, google sheet, google sheets, gsheet, grafana,
  greenhouse, harbor, hashicorp vault, helpdesk, honeycomb, hubspot, huggingface, hugging face, intercom, intranet,
  jaeger, jenkins, jira, kaggle, kibana, lastpass, launchdarkly, linear, loki, looker, mailing list, mastergo,
  mattermost, metabase, microsoft teams, miro, mixpanel, mlflow, monday.com, ms teams, nacos, new relic, nexus,
  nobl9, notion, onedrive, onshape, opsgenie, overleaf, pagerduty, papertrail, phabricator, play console, portal,
  posthog, postman, power bi, processon, productboard, prometheus, rancher, readme.io, redash, rollbar, runbook,
  s3, salesforce, segment, sentry, servicenow, sharepoint, shortcut, slack, sls, snowflake, splunk, spreadsheet,
  stackdriver, status page, statuspage, stoplight, storybook, stripe dashboard, sumo logic, superset, swaggerhub,
  tableau, tapd, teambition, teamcity, teams channel, telegram, tempo, testrail, trello, unleash, vault, w&b,
  wandb, weights & biases, whatsapp, wiki, workday, yapi, youtrack, zendesk, zenodo, zeplin, zotero
`
const chineseSystems =
  '云效、企业微信、企微、保险库、共享盘、华为云、墨刀、多维表格、夜莺、工单系统、微信群、有道云、监控平台、看板、知识库、石墨、禅道、网盘、群里、腾讯云、腾讯文档、蓝湖、语雀、配置中心、金山文档、钉钉、阿里云、面板、飞书'

/** The longer name first: "google sheets" is not "google sheet" and a letter. */
function oneOf(names: string, comma: string): string {
  const each = names.split(comma).map((name) => name.trim().replace(/[.&]/g, '\\$&'))
  return each.sort((a, b) => b.length - a.length).join('|')
}
const SYSTEM = new RegExp(`(?<![\\w./-])(?:${oneOf(systems, ',')})(?![\\w-])|${oneOf(chineseSystems, '、')}`, 'gi')

const ENDINGS = 'internal|local|corp|lan|intra|dev|io|com|net|org|cn|eu|app|cloud|example|test'
const ADDRESS = new RegExp(
  `(?:https?|s3|gs)://[^\\s，。,;)]+|(?<![\\w@/.-])(?:[a-z0-9-]{1,60}\\.){1,6}(?:${ENDINGS})(?:/[\\w./#?=&-]*)?(?![\\w(])|(?<!\\w)#[a-z][a-z0-9-]*[a-z0-9](?!\\w)`,
  'gi',
)

export function markPlaces(sentence: string): string {
  return sentence.replace(ADDRESS, ADDRESS_MARK).replace(SYSTEM, (name) => SYSTEM_MARK + name)
}
