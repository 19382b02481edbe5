/**
 * Words of software engineering that mean nearly the same. Data: a line is a group, and each of its words finds the others, for
 * a part of the weight. Only what engineers really use for one another: a wrong neighbour costs more than a missing one.
 */

const GROUPS = `
renew refresh rotate reissue
auth authentication login signin logon authenticate
authorization authorisation permission access
logout signout
credential secret apikey password
deploy deployment release rollout ship publish
rollback revert undo
prod production live
stage staging preprod
db database postgres postgresql sql
table schema
migration migrate
query sql
repo repository
pr pullrequest mr
branch fork
bug defect issue
error exception failure
crash panic abort
incident outage downtime
config configuration setting option
env environment
variable var
dir directory folder
doc docs documentation manual
spec specification
test spec
unittest unit
mock stub fake
e2e endtoend
flaky intermittent unstable
ci pipeline buildserver
build compile bundle
package dependency library module
npm package
perf performance speed latency slow
cache caching memoize
lag delay behind
memory ram heap
queue backlog
job task worker
cron schedule nightly
retry reattempt
timeout deadline
rate throttle limit
duplicate twice double
delete remove drop erase
create add insert
rename move
function method func
param parameter argument arg
async asynchronous
sync synchronous
ui frontend interface
backend server
endpoint route api
request call
response reply answer
message event
client customer
k8s kubernetes
container docker image
tls ssl certificate cert
key token
encrypt cipher
hash digest
log logging logger
monitor monitoring dashboard metrics grafana
alert pager oncall
tracker ticket jira linear
email mail
price cost amount
tax vat
invoice bill billing
payment charge pay
refund reimbursement
purchase order
lint linter
format formatter formatting prettier
style convention
typescript ts
javascript js
python py
golang go
review codereview
approve approval
admin administrator backoffice
pic picture image photo
fix repair solve resolve
upgrade bump update
refactor refactoring restructure
language locale i18n translation
timezone utc zone dst
version release
上线 发布 部署 发版
周五 星期五 礼拜五
周一 星期一 礼拜一
周二 星期二 礼拜二
周三 星期三 礼拜三
周四 星期四 礼拜四
周六 星期六 礼拜六
周日 星期日 星期天 礼拜天
测试 test
数据库 database
缓存 cache
配置 config
接口 api
文档 docs
部署 deploy
分支 branch
提交 commit
回滚 rollback
`

export const RELATED_GROUPS: readonly (readonly string[])[] = GROUPS.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))
