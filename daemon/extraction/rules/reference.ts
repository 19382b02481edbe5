/** Where things live in outside systems. A place inside the repository is no such thing: the code shows it. */
import type { Cue } from './rule.ts'

const cue = (name: string, weight: number, pattern: RegExp): Cue => ({ name, type: 'reference', weight, pattern })

/** Systems that hold what a repository does not. Extend freely: a name alone decides nothing. */
const SYSTEM =
  '(?:jira|linear|notion|confluence|slack|discord|mattermost|grafana|datadog|kibana|splunk|sentry|honeycomb|new ?relic|prometheus|looker|tableau|metabase|superset|power ?bi|redash|figma|miro|zeplin|google (?:drive|sheets?|docs?)|gdrive|g ?sheet|spreadsheet|sharepoint|onedrive|dropbox|box|airtable|coda|trello|asana|clickup|monday\\.com|shortcut|youtrack|bugzilla|phabricator|zendesk|intercom|freshdesk|hubspot|salesforce|pagerduty|opsgenie|statuspage|status page|1password|bitwarden|lastpass|hashicorp vault|vault|launchdarkly|unleash|backstage|artifactory|nexus|s3|gcs|azure blob|bigquery|snowflake|databricks|wiki|intranet|teams channel|ms teams|microsoft teams|telegram|whatsapp|mailing list|google group|calendar|postman|swaggerhub|stoplight|readme\\.io|gitbook|github (?:project|projects|discussions|wiki|issues)|gitlab (?:wiki|issues)|dashboard|runbook|portal|helpdesk|service ?now|testrail|browserstack|app ?store connect|play console|amplitude|mixpanel|posthog|segment|storybook|chromatic|crashlytics|firebase console|aws console|cloudwatch|stackdriver|loki|jaeger|tempo|w&b|wandb|mlflow|hugging ?face|kaggle|docusign|workday|bamboohr|greenhouse|stripe dashboard|altium(?: 365)?|onshape|overleaf|zotero|dataverse|zenodo|teamcity|jenkins|buildkite|circleci|argocd|rancher|nobl9|harbor|doppler|sumo ?logic|papertrail|rollbar|bugsnag)'
const CHINESE_SYSTEM =
  '(?:飞书|语雀|钉钉|企业微信|企微|禅道|石墨|腾讯文档|金山文档|有道云|夜莺|阿里云|腾讯云|华为云|蓝湖|墨刀|共享盘|网盘|知识库|看板|多维表格|工单系统|监控平台|配置中心|面板|群里|保险库|云效|微信群)|(?:YApi|Apifox|SLS|TAPD|MasterGo|Coding|Nacos|Apollo|ONES|Teambition|ProcessOn|Kibana|Grafana|Jira|Confluence|Notion|Figma|Sentry|1Password|PagerDuty|Slack|Linear|Wiki|Zendesk|Datadog|Metabase|LaunchDarkly|Airtable|wandb|W&B|Looker|Tableau|Postman|GitLab|GitHub|SharePoint|Bugzilla)'
const ADDRESS =
  '(?:https?://\\S+|s3://\\S+|gs://\\S+|(?<![\\w@/.-])(?:[a-z0-9-]+\\.)+(?:internal|local|corp|lan|intra|dev|io|com|net|org|cn|eu|app|cloud|example|test)(?:/[\\w./#?=&-]*)?(?![\\w(])|(?<!\\w)#[a-z][a-z0-9-]*[a-z0-9](?!\\w))'
const KEPT =
  "(?:lives?|sits?|stays?|is|are|be|(?:they|it|that|everything|all)'(?:re|s)|keeps?|puts?|tracks?|stores?|(?:is|are) \\w+ed|kept|tracked|stored|documented|posted|announced|filed|defined|collected|managed|recorded|logged|reported|archived|published|hosted|lands?|ends? up|goes|go|gets? \\w+|moved|come in|comes in|belongs?|resides?|dumped|written up|planned|scheduled)"
const PREPOSITION = '(?:in|on|at|under|to|into|inside|through|over|via|from)'

export const reference: readonly Cue[] = [
  cue(
    'kept in a system',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our |their |an? |that |this )?(?:[\\w•'’/-]+ ){0,4}?${SYSTEM}\\b`,
      'i',
    ),
  ),
  cue(
    'kept at an address',
    1.1,
    new RegExp(
      `\\b${KEPT}\\b(?: all| always| still| now| only)? ?(?:[^.?!]{0,40}?\\b${PREPOSITION} (?:the |our )?)?(?:[\\w-]+ ){0,2}${ADDRESS}`,
      'i',
    ),
  ),
  cue(
    'kept in a named place',
    0.9,
    new RegExp(
      `\\b${KEPT}\\b[^.?!]{0,30}?\\b${PREPOSITION} (?:the |our |their |an? )?(?:[\\w•'’-]+ ){0,3}(?:channel|board|dashboard|space|bucket|workspace|sheet|tracker|folder|drive|view|vault|group|mailing list|project)\\b`,
      'i',
    ),
  ),
  cue('a system as the place', 0.8, new RegExp(`(?:→|->|=>|:)\\s*(?:the |our )?(?:[\\w-]+ ){0,2}${SYSTEM}\\b`, 'i')),
  cue(
    'look there',
    0.9,
    new RegExp(
      `\\b(?:look|check|search|see|ask|go|use|consult|start)\\b (?:it up )?(?:[\\w]+ )?(?:in |at |on |into |to )?(?:the |our )?(?:[\\w-]+ )?(?:${ADDRESS}|${SYSTEM}\\b)[^.?!]{0,30}\\b(?:for|first|when|if|instead|before)\\b`,
      'i',
    ),
  ),
  cue(
    'source of truth',
    1,
    /\b(?:single )?source of truth\b|\bcanonical (?:place|copy|version|source)\b|\bsystem of record\b/i,
  ),
  cue(
    'with its name',
    0.3,
    /\b(?:project|space|board|view|page|file|folder|channel|org|team|env|bucket|vault|sheet|label|tag|queue|under)\b (?:is |called |named )?(?:[•]{2,}|[A-Z][\w-]*[A-Z0-9]\w*|[\w]+-[\w-]+)/,
  ),
  cue(
    'the other one is dead',
    0.5,
    /\b(?:the )?(?:other|old|one called)\b.{0,30}\b(?:is|are) (?:dead|outdated|out of date|stale|archived|gone|deprecated|unmaintained|read[- ]only)\b|\b(?:links?|docs?|wiki|codeowners|readme)\b.{0,20}\b(?:404|out of date|outdated|stale|lags?)\b|, not (?:in |on )?(?:jira|github|confluence|the \w+)\b/i,
  ),
  cue(
    'questions go there',
    0.8,
    new RegExp(
      `\\b(?:questions?|bugs?|issues?|reports?|requests?|incidents?|tickets?|escalations?|alerts?|feedback|complaints?|docs?|outages?)\\b[^.?!]{0,40}\\b(?:go(?:es)?|come in|belong|land|get|are|live)\\b[^.?!]{0,30}(?:${ADDRESS}|${SYSTEM}\\b)`,
      'i',
    ),
  ),
  cue('name: address', 1, new RegExp(`^[\\w -]{3,40}[:→]\\s*${ADDRESS}`, 'i')),
  cue(
    'is a place in a system',
    0.8,
    new RegExp(`\\b(?:is|are) (?:in |on )?(?:the|our|an?) (?:[\\w-]+ )?${SYSTEM}\\b`, 'i'),
  ),
  cue(
    'ask there',
    1.1,
    new RegExp(
      `\\b(?:ask|post|write|ping|shout|announce it|raise it|report it|file (?:it|them|bugs))\\b (?:it |them )?(?:in|on|to|at) (?:the )?(?:${ADDRESS}|${SYSTEM}\\b)`,
      'i',
    ),
  ),
  cue('can be found', 0.7, /\b(?:you(?:'ll| can| will)? find|can be found|you get)\b .{0,50}\b(?:in|on|at|under)\b/i),
  cue(
    'kept in something with a name',
    0.9,
    /\b(?:lives?|(?:is|are|be) (?:all |always )?(?:kept|tracked|stored|documented|defined|versioned|managed|recorded|archived|published|hosted|filed|planned|collected)|go(?:es)? into|comes? from)\b (?:all )?(?:in|on|at|under|into)? ?(?:the |our )?[A-Z][a-z&]+[A-Za-z0-9&]*(?![\w.(/])/,
  ),
  cue('these days', 0.3, /\b(?:these days|nowadays|now|since then|anymore)\b/i),
]

export const referenceChinese: readonly Cue[] = [
  cue(
    '在某系统里',
    1.1,
    new RegExp(
      `(?:在|去|看|到|用|走|放|记|存|发|提|迁到|搬到|挪到|换到|上)(?:了|的)?\\s*.{0,10}?${CHINESE_SYSTEM}`,
      'i',
    ),
  ),
  cue('在某地址', 1, new RegExp(`(?:在|去|看|到|地址|链接|网址|走|是).{0,8}${ADDRESS}`, 'i')),
  cue(
    '名叫',
    0.3,
    /(?:项目|空间|库|表|群|面板|看板|文档|频道|project|logstore|schedule|vault)\s*(?:是|叫|名|为)?\s*(?:[•]{2,}|[A-Za-z][\w-]+)/i,
  ),
  cue('以那个为准', 0.9, /以(?:那|这|它).{0,3}为准|唯一(?:的)?(?:来源|出处)|为准/),
  cue('那边不维护', 0.5, /(?:不维护|没人维护|不更新|过期|作废|废弃|outdated|停用)了?/i),
  cue('先查那个', 0.6, /(?:先|直接)?(?:查|去|看|找)(?:那个|那里|那边|这个|这里)(?:看|找|查)?/),
]
