/** Data: stop words are not looked for, common words count for little, related words count for each other. */
const STOP = `a an the and or but nor so if then else than that this these those there here it its itself he him his himself she her
  hers herself they them their theirs themselves we us our ours ourselves you your yours yourself i me my mine myself one
  is am are was were be been being isn aren wasn weren do does did done doing don doesn didn have has had having haven hasn hadn
  will would shall should can could may might must won wouldn shouldn couldn cannot ain let lets
  of in on at to from by for with about into onto over under above below between through during before after again against out off up
  down as until while because since upon within without via per
  what which who whom whose when where why how whether
  not no yes nor only just also too very really quite even still already yet ever never any some all each every both either neither few
  more most much many other another such same own
  ll ve re s t d m please ok okay hi hello hey thanks thank etc eg ie vs`

const STOP_CHINESE = `的 了 是 在 我 你 他 她 它 们 和 与 或 也 都 就 还 又 吗 呢 吧 啊 呀 嘛 把 被 给 对 从 到 向 为 以 于 之 其 这 那 哪 个 些 么 什么 怎么 怎样 如何 为什么
  哪里 哪儿 哪个 哪些 谁 多少 几 可以 能 能否 要 不要 想 会 应该 需要 请 请问 帮 帮我 一下 一个 这个 那个 我们 你们 他们 没有 有 很 太 最 更 但 但是 因为 所以 如果
  怎么办 怎么样 是否 是不是 有没有`

const COMMON = `able add actually allow answer ask away back bad become begin best better big bit bring call came case change check come
  consider correct course create day decide describe detail different discuss easy end enjoy enough example exactly explain
  fact far feel felt find fine first follow found full gave general get give given go going gone good got great guy happen hard help
  high idea important include instead interest involve keep kind knew know known large last late later latest least leave left less like list
  little live long look lot made main make mean mention might mind move name near need new next nice normal note now number often
  old once open order particular part past people perhaps person place plan point possible prefer pretty probably problem put question
  quick rather reason recent recently regard related remember right said saw say see seem seen set share shared show similar simple
  small someone something somewhat somewhere sort specific start state stay stop story stuff sure take taken talk tell thing think thought
  time today together told tomorrow took tried try turn two type use used useful user using usual usually various want way week
  well went whole wish word work worked world would wrong year yesterday
  three four five six seven eight nine ten half several
  currently current express mentioned expressed plans planning describes feels thinks says`

const words = (list: string) => list.trim().split(/\s+/)

export const STOP_WORDS: ReadonlySet<string> = new Set([...words(STOP), ...words(STOP_CHINESE)])
export const COMMON_WORDS: ReadonlySet<string> = new Set(words(COMMON))

/** Words of software engineering that mean nearly the same, in groups. A wrong neighbour costs more than a missing one. */
const GROUPS = `renew refresh rotate reissue | auth authentication login signin logon authenticate |
  authorization authorisation permission access | logout signout | credential secret apikey password |
  deploy deployment release rollout ship publish | rollback revert undo | prod production live | stage staging preprod |
  db database postgres postgresql sql | table schema | migration migrate | query sql | repo repository | pr pullrequest mr |
  branch fork | bug defect issue | error exception failure | crash panic abort | incident outage downtime |
  config configuration setting option | env environment | variable var | dir directory folder |
  doc docs documentation manual | spec specification | test spec | unittest unit | mock stub fake | e2e endtoend |
  flaky intermittent unstable | ci pipeline buildserver | build compile bundle | package dependency library module |
  npm package | perf performance speed latency slow | cache caching memoize | lag delay behind | memory ram heap |
  queue backlog | job task worker | cron schedule nightly | retry reattempt | timeout deadline | rate throttle limit |
  duplicate twice double | delete remove drop erase | create add insert | rename move | function method func |
  param parameter argument arg | async asynchronous | sync synchronous | ui frontend interface | backend server |
  endpoint route api | request call | response reply answer | message event | client customer | k8s kubernetes |
  container docker image | tls ssl certificate cert | key token | encrypt cipher | hash digest | log logging logger |
  monitor monitoring dashboard metrics grafana | alert pager oncall | tracker ticket jira linear | email mail |
  price cost amount | tax vat | invoice bill billing | payment charge pay | refund reimbursement | purchase order |
  lint linter | format formatter formatting prettier | style convention | typescript ts | javascript js | python py |
  golang go | review codereview | approve approval | admin administrator backoffice | pic picture image photo |
  fix repair solve resolve | upgrade bump update | refactor refactoring restructure | language locale i18n translation |
  timezone utc zone dst | version release | 上线 发布 部署 发版 | 周五 星期五 礼拜五 | 周一 星期一 礼拜一 |
  周二 星期二 礼拜二 | 周三 星期三 礼拜三 | 周四 星期四 礼拜四 | 周六 星期六 礼拜六 | 周日 星期日 星期天 礼拜天 | 测试 test |
  数据库 database | 缓存 cache | 配置 config | 接口 api | 文档 docs | 部署 deploy | 分支 branch | 提交 commit |
  回滚 rollback`

export const RELATED_GROUPS: readonly (readonly string[])[] = GROUPS.split('|').map(words)
