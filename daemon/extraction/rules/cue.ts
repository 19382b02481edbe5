/** Cues make it more likely that a sentence states something durable; doubts make it less likely. */
import type { MemoryType } from '../../../schema/values.ts'

type Rule = {
  name: string
  weight: number
  /** Matched where quotes and code are blanked out. */
  pattern: RegExp
}

export type Cue = Rule & {
  /** `any`: durable, of a type that other cues of the sentence name. */
  type: MemoryType | 'any'
  /** Counts only as an answer to the assistant. */
  answers?: true
  /** Counts only as an answer to words like these. */
  to?: RegExp
  /** The sentence complains, and the next one says the rule. */
  remedyFollows?: true
}

/** `against`: only these types; all if there are none. */
export type Doubt = Rule & { against?: readonly MemoryType[] }

export const VETO = Number.POSITIVE_INFINITY

/** Keys are weight and name; several patterns are several rules of that name. */
type Table<Row extends Rule> = Record<string, RegExp | RegExp[] | Omit<Row, 'name' | 'type' | 'weight'>>

export const cuesOf = (type: Cue['type'], table: Table<Cue>): Cue[] => rowsOf(table).map((row) => ({ ...row, type }))
export const doubtsOf = (table: Table<Doubt>): Doubt[] => rowsOf(table)

export const answer = (pattern: RegExp) => ({ pattern, answers: true as const })

function rowsOf<Row extends Rule>(table: Table<Row>) {
  return Object.entries(table).flatMap(([key, value]) => {
    const [first = '', ...words] = key.split(' ')
    const named = { name: words.join(' '), weight: first === 'veto' ? VETO : Number(first) }
    const rows = Array.isArray(value) ? value : [value]
    return rows.map((row) => ({ ...named, ...(row instanceof RegExp ? { pattern: row } : row) }))
  })
}

/** Marks replace what was found in a sentence, so that a cue can ask for any of its kind. People do not type them. */
export const DATE_MARK = '\u2402'
export const SYSTEM_MARK = '\u2403'
export const ADDRESS_MARK = '\u2404'

/** Extend freely: the name of a system alone decides nothing. */
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
  '企业微信|多维表格|工单系统|监控平台|腾讯文档|配置中心|金山文档|保险库|共享盘|华为云|微信群|有道云|知识库|腾讯云|阿里云|云效|企微|墨刀|夜莺|看板|石墨|禅道|网盘|群里|蓝湖|语雀|钉钉|面板|飞书'

/** Longer names first: "google sheets" contains "google sheet". */
const names = systems.split(',').map((name) => name.trim().replace(/[.&]/g, '\\$&'))
const namesOfSystems = names.sort((a, b) => b.length - a.length).join('|')
export const SYSTEM = new RegExp(`(?<![\\w./-])(?:${namesOfSystems})(?![\\w-])|${chineseSystems}`, 'gi')

const ENDINGS = 'internal|local|corp|lan|intra|dev|io|com|net|org|cn|eu|app|cloud|example|test'
export const ADDRESS = new RegExp(
  `(?:https?|s3|gs)://[^\\s，。,;)]+|(?<![\\w@/.-])(?:[a-z0-9-]{1,60}\\.){1,6}(?:${ENDINGS})(?:/[\\w./#?=&-]*)?(?![\\w(])|(?<!\\w)#[a-z][a-z0-9-]*[a-z0-9](?!\\w)`,
  'gi',
)
