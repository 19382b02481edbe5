/** The pi extension: one file that memoryd owns whole; it uses Node only. */
import { ACTOR_HEADER } from '../../../schema/caller.ts'
import { HOOK_MARK } from '../../../schema/hook.ts'
import { routeTable } from '../../../schema/route-table.ts'

const URL_PATH = routeTable.hook.url.replace(':harness', 'pi')

export function piExtension(socket: string): string {
  return `// ${HOOK_MARK}: written by \`memoryd connect pi\`, removed by \`memoryd disconnect pi\`.
// Tells memoryd what happens in a session, and pi what memoryd remembers. Whatever goes wrong, pi goes on.
import { request } from 'node:http'

const SOCKET = ${JSON.stringify(socket)}
const DEADLINE_MS = 450

function ask(hook) {
  return new Promise((resolve) => {
    let outgoing
    const done = (text) => {
      clearTimeout(timer)
      resolve(text)
      // What comes too late must not count as taken.
      outgoing?.destroy()
    }
    const timer = setTimeout(() => done(''), DEADLINE_MS)
    try {
      const body = Buffer.from(JSON.stringify(hook))
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        '${ACTOR_HEADER}': 'agent:pi',
      }
      const options = { socketPath: SOCKET, method: 'POST', path: '${URL_PATH}', headers, agent: false }
      outgoing = request(options, (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', () => done(''))
        response.on('end', () => {
          try {
            done(response.statusCode === 200 ? JSON.parse(Buffer.concat(chunks).toString()).text : '')
          } catch {
            done('')
          }
        })
      })
      outgoing.on('error', () => done(''))
      outgoing.end(body)
    } catch {
      done('')
    }
  })
}

export default function memoryd(pi) {
  let atStart = ''
  const tell = (name, ctx, more = {}) => {
    const { sessionManager, cwd } = ctx
    return ask({
      hook_event_name: name,
      session_id: sessionManager?.getSessionId?.() ?? '',
      transcript_path: sessionManager?.getSessionFile?.() ?? '',
      cwd,
      ...more,
    })
  }
  pi.on('session_start', async (event, ctx) => {
    atStart = await tell('session_start', ctx, { source: event?.reason ?? 'startup' })
  })
  pi.on('before_agent_start', async (event, ctx) => {
    const told = await tell('before_agent_start', ctx, { prompt: event?.prompt ?? '' })
    const content = [atStart, told].filter((text) => text !== '').join('\\n')
    atStart = ''
    return content === '' ? undefined : { message: { customType: 'memoryd', content, display: false } }
  })
  for (const name of ['agent_end', 'session_before_compact', 'session_shutdown'])
    pi.on(name, async (_event, ctx) => {
      await tell(name, ctx)
    })
}
`
}
