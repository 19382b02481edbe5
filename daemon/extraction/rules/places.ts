/**
 * Outside systems by name, and what an address looks like. Where a sentence has one it gets a mark, so that the cues need
 * not know them all, and no cue is found inside an address. Extend freely: a name alone decides nothing.
 */
import { ADDRESS_MARK, SYSTEM_MARK } from './marks.ts'

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
