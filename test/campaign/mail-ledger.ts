/** Which mail was taken in and which was acknowledged by its reader: none is lost, and none comes twice. */
type Mail = { box: string; body: string; state: 'unsure' | 'there' | 'leaving' | 'gone' }

export type MailLedger = ReturnType<typeof createMailLedger>

export function createMailLedger() {
  const mails = new Map<string, Mail>()
  return {
    begin: (box: string, body: string) => {
      const mail: Mail = { box, body, state: 'unsure' }
      mails.set(body, mail)
      return {
        acknowledged: () => {
          mail.state = 'there'
        },
        refused: () => {
          mail.state = 'gone'
        },
      }
    },
    /** Its reader says that it was read. */
    leave: (bodies: readonly string[]) => {
      const leaving = bodies.flatMap((body) => mails.get(body) ?? [])
      for (const mail of leaving) mail.state = 'leaving'
      const become = (state: Mail['state']) => () => {
        for (const mail of leaving) mail.state = state
      }
      return { acknowledged: become('gone'), refused: become('there') }
    },
    /** Once all writes and reads have ended. */
    settle: (box: string, found: readonly string[]): string[] => {
      const problems = found.flatMap((body, at) => {
        const mail = mails.get(body)
        if (!mail || mail.box !== box) return [`a mail that was not sent to ${box}: ${body}`]
        if (found.indexOf(body) < at) return [`twice in ${box}: ${body}`]
        return mail.state === 'gone' ? [`acknowledged, and again in ${box}: ${body}`] : []
      })
      for (const mail of mails.values()) {
        if (mail.box !== box || mail.state === 'gone') continue
        const isThere = found.includes(mail.body)
        if (mail.state === 'there' && !isThere) problems.push(`lost in ${box}: ${mail.body}`)
        mail.state = isThere ? 'there' : 'gone'
        if (!isThere) mails.delete(mail.body)
      }
      return problems
    },
  }
}
