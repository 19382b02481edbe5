/**
 * Leaves of a message what the person typed in it: code, logs, quotes, mails, chats and other pasted text go, line by line.
 * Rules in what somebody pasted are not theirs. Pure; linear in the text.
 */

/** Longer own words are a document: people say what they want before or after it. */
const CAP_OWN_UNITS = 6_000
const EDGE_UNITS = 1_500
/** Nobody types such a line. */
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
