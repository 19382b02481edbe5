/** What each route calls: requests become calls of the services, and nothing else happens here. */
import type { Caller } from '../../schema/caller.ts'
import type { Status } from '../../schema/process.ts'
import { PROTOCOL } from '../../schema/rendezvous.ts'
import type { Agent } from '../agent/agent.ts'
import type { Context } from '../context/context.ts'
import type { Core } from '../core.ts'
import type { Dream } from '../dream/dream.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { Purges } from '../housekeeping/purge.ts'
import { loadInstructions, MANAGED_FILE } from '../instructions/instructions.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { MailService } from '../mail/mail.ts'
import type { Memory } from '../memory/memory.ts'
import type { Models } from '../models/models.ts'
import type { Notes } from '../notes/notes.ts'
import type { Projects } from '../projects/projects.ts'
import type { Recall } from '../recall/recall.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { TranscriptReader } from '../transcripts/transcript-reader.ts'
import { onlyUser, routeFile } from './request.ts'

export const memoryRoutes = (core: Core, projects: Projects, memory: Memory, recall: Recall, purges: Purges) =>
  routeFile(async () => (await import('../../schema/memory.ts')).memoryRoutes, {
    memoryIndex: ({ query, caller }) => memory.reading.index(query.cwd, caller),
    memoryPrompt: ({ query: { cwd, sessionId, harness }, caller }) =>
      memory.prompting.prompt(cwd, caller, sessionId === undefined ? undefined : { harness, sessionId }),
    renewPrompt: ({ query }) => {
      memory.prompting.renew(query)
      // What a session no longer remembers it may be shown again.
      recall.reset(query)
      return {}
    },
    memories: ({ query, caller }) => memory.reading.list(query.cwd, caller, { type: query.type, q: query.q }),
    memory: ({ query, params, caller }) =>
      memory.reading.get(query.cwd, caller, params.file, query.at === undefined ? undefined : Date.parse(query.at)),
    putMemory: ({ query, params: { file }, body: { content, ifHash, reason = 'written' }, caller }) =>
      memory.put(query.cwd, caller, { file, content, expect: ifHash }, reason),
    forget: ({ query, params: { file }, caller }) => forget(memory, purges, file, query, caller),
    remember: ({ body, caller }) => memory.remember(body.cwd, caller, body.text, body.type),
    instructions: ({ query, caller }) => instructionsAt(core, projects, memory, query.cwd, caller),
  })

type Forget = { cwd: string; reject?: boolean | undefined; purge?: boolean | undefined; ifHash?: string | undefined }
type Memories = ReturnType<Memory['ofAgent']>

function forget(memories: Memories, purges: Purges, file: string, query: Forget, caller: Caller) {
  const { cwd, reject = false, purge = false, ifHash } = query
  return purge
    ? purges.purge(memories.dirOf(cwd, caller), caller, file, { reject, ifHash })
    : memories.forget(cwd, caller, file, { reject, ifHash })
}

function instructionsAt(core: Core, projects: Projects, memory: Memory, cwd: string, caller: Caller) {
  const { items } = loadInstructions({
    cwd,
    root: projects.find(cwd, caller).root,
    claudeDir: projects.configDir(caller),
    managedFile: MANAGED_FILE,
    home: core.places.home,
    agentsMd: core.settings.current().instructions.agentsMd,
  })
  const { path, content } = memory.reading.index(cwd, caller)
  return { items: content === '' ? items : [...items, { kind: 'memory' as const, path, content }] }
}

const changeIds = (changes: { id: number }[]) => changes.map(({ id }) => String(id))

export const historyRoutes = ({ history, undo, review }: Memory) =>
  routeFile(async () => (await import('../../schema/history.ts')).historyRoutes, {
    changes: ({ query: { cwd, file, limit, after }, caller }) => history.changes(cwd, caller, { file, limit, after }),
    change: ({ params }) => history.change(params.id),
    undoChange: async ({ params, caller }) => ({
      changeIds: changeIds(await undo.change(Number(params.id), caller.actor)),
    }),
    undoRun: async ({ params, caller }) => {
      const { runId, applied } = await undo.run(params.id, caller.actor)
      return { changeIds: changeIds(applied), runId }
    },
    run: ({ params }) => history.run(params.id),
    tombstones: () => history.tombstones(),
    liftTombstone: ({ params, caller }) => {
      onlyUser(caller)
      history.liftTombstone(params.id)
      return {}
    },
    reviews: () => history.reviews(),
    decideReview: ({ params, body, caller }) => {
      onlyUser(caller)
      const id = Number(params.id)
      return body.decision === 'approve' ? review.approve(id) : review.reject(id)
    },
  })

export const transferRoutes = (memory: Memory) =>
  routeFile(async () => (await import('../../schema/transfer.ts')).transferRoutes, {
    exportMemories: ({ query, caller }) => memory.exporting.start(query.cwd, caller),
    importMemories: ({ query, lines, caller }) => {
      // The file says who made its memories: the user vouches for that.
      onlyUser(caller)
      return memory.importing.run(query.cwd, caller, lines)
    },
    moveProject: ({ body, caller }) => {
      onlyUser(caller)
      return memory.moving.move(body, caller)
    },
  })

export const recallRoutes = (recall: Recall) =>
  routeFile(async () => (await import('../../schema/recall.ts')).recallRoutes, {
    recall: (call) => recall.recall(call.body, call),
    prefetchRecall: ({ body, caller }) => recall.prefetch(body, caller),
    collectRecall: ({ params }) => recall.collect(params.ticket),
    cancelRecall: ({ params }) => recall.cancel(params.ticket),
    recalled: ({ params, query }) => recall.shown(params.id, query.harness),
  })

export const sessionRoutes = (reader: TranscriptReader, sessions: Sessions, notes: Notes, agent: Agent) =>
  routeFile(async () => (await import('../../schema/session.ts')).sessionRoutes, {
    sessions: ({ query }) => sessions.list(query),
    session: ({ params, query }) => sessions.get(params.id, query.harness),
    notices: ({ params, query }) => sessions.notices.list(params.id, query),
    sessionNotes: ({ params, query }) => notes.answer(sessions.known(params.id, query.harness)),
    search: (call) => {
      const { q, cwd, limit = 20 } = call.query
      return sessions.search(q, { cwd, caller: call.caller, limit, signal: () => call.signal })
    },
    importTranscripts: async ({ body }) => ({ jobId: await reader.importFolder(body.dir, body.harness) }),
    pushTurn: async ({ body, caller }) => {
      const kept = await reader.keepTurn(body, caller)
      // Before the turn is read: a job that it makes due may begin at once.
      const prefixSkipped = body.prefix && agent.keepHarnessRequest(kept.session, body.prefix)
      return { jobIds: await reader.readTurn(kept), ...(prefixSkipped !== undefined && { prefixSkipped }) }
    },
  })

export const contextRoutes = (context: Context) =>
  routeFile(async () => (await import('../../schema/context.ts')).contextRoutes, {
    measureContext: ({ body, caller }) => context.measure(body, caller),
    microcompact: ({ body, caller }) => context.microcompact(body, caller),
    compact: ({ body, caller, signal }) => context.compact(body, caller, signal),
    keepToolResults: ({ body }) => context.keepResults(body),
    toolResult: ({ params: { session, id }, query: { harness, from, to } }) =>
      context.result({ harness, sessionId: session }, id, { from, to }),
  })

export const hookRoutes = (hooks: Hooks) =>
  routeFile(async () => (await import('../../schema/hook.ts')).hookRoutes, {
    hook: ({ params, body, caller }) => hooks.answer(params.harness, body, caller),
  })

export const jobRoutes = (jobs: Jobs, dream: Dream, model: Models) =>
  routeFile(async () => (await import('../../schema/job.ts')).jobRoutes, {
    jobs: ({ query }) => jobs.list(query),
    job: ({ params }) => jobs.get(params.id),
    killJob: ({ params }) => jobs.kill(params.id),
    retryJob: ({ params, caller }) => {
      // A job that was given up after three failures begins again with newer input, or when the user says so.
      onlyUser(caller)
      return jobs.retry(params.id)
    },
    dream: ({ body: { cwd, force, explain }, caller }) => dream.begin(cwd, caller, { force, explain }),
    dreamStatus: ({ query, caller }) => dream.status(query.cwd, caller),
    cost: ({ query: { by = 'day', days = 30 } }) => model.cost(by, days),
  })

export const mailRoutes = (mail: MailService, memory: Memory, purges: Purges) =>
  routeFile(async () => (await import('../../schema/mail.ts')).mailRoutes, {
    agents: () => mail.agents(),
    registerAgent: ({ body }) => mail.register(body),
    sendMail: ({ body }) => mail.send(body),
    mail: ({ params, query: { wait = 0, after, limit }, signal }) =>
      mail.read(params.agent, { waitMs: wait * 1_000, after, limit, signal }),
    acknowledgeMail: ({ params, body }) => mail.acknowledge(params.agent, body.ids.map(Number)),
    agentMemory: ({ params: { type }, query: { cwd, scope }, caller }) =>
      memory.prompting.agentPrompt(cwd, caller, { type, scope }),
    agentMemoryFile: ({ params: { type, file }, query: { cwd, scope }, caller }) =>
      memory.reading.get(cwd, caller, file, undefined, { type, scope }),
    putAgentMemory: ({ params: { type, file }, query: { cwd, scope }, body, caller }) => {
      const { content, ifHash, reason = 'written' } = body
      return memory.ofAgent({ type, scope }).put(cwd, caller, { file, content, expect: ifHash }, reason)
    },
    forgetAgentMemory: ({ params: { type, file }, query, caller }) =>
      forget(memory.ofAgent({ type, scope: query.scope }), purges, file, query, caller),
  })

type Parts = Pick<Status, 'mode' | 'projects' | 'roots' | 'ingest' | 'jobs' | 'harnesses' | 'budget'>

export const processRoutes = ({ version, health, places, clock }: Core, projects: Projects, parts: () => Parts) => {
  const startedAt = new Date(clock.now()).toISOString()
  let document: { openapi: string } | undefined
  return routeFile(async () => (await import('../../schema/process.ts')).processRoutes, {
    health: () => ({ ok: true, version, pid: process.pid }),
    status: () => ({
      ...parts(),
      paused: projects.paused(),
      state: health.state(),
      reasons: health.list(),
      version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAt,
      socket: places.socketPath,
      stateDir: places.stateDir,
      configFile: places.configFile,
      errors: health.failures(),
    }),
    openapi: async () => {
      document ??= Object.freeze((await import('../../schema/openapi.ts')).openApiDocument(version))
      return document
    },
    pause: ({ body }) => projects.pause(body.cwd),
    resume: ({ body }) => projects.resume(body.cwd),
  })
}
