/** The composition root: every part of the daemon, in the order data flows. Stopping runs it backwards. */
import { createAgentRunner } from './agent/agent.ts'
import { createContext } from './context/context.ts'
import { type Core, type CoreOptions, openCore } from './core.ts'
import { isCorruption } from './db/database.ts'
import { createDream } from './dream/dream.ts'
import { createExtraction } from './extraction/extraction.ts'
import { createHooks } from './hooks/hooks.ts'
import { createHousekeeping } from './housekeeping/housekeeping.ts'
import { createPurges } from './housekeeping/purge.ts'
import * as routes from './http/handlers.ts'
import { createServer } from './http/server.ts'
import { createJobs } from './jobs/jobs.ts'
import { createMail } from './mail/mail.ts'
import { createMemory } from './memory/memory.ts'
import { createModels } from './models/models.ts'
import { createNotes } from './notes/notes.ts'
import { isDiskError } from './platform/disk.ts'
import { createProjects } from './projects/projects.ts'
import { createRecall } from './recall/recall.ts'
import { createSessions } from './sessions/sessions.ts'
import { watchSettings } from './settings/live-settings.ts'
import { createTranscriptReader } from './transcripts/transcript-reader.ts'

export async function startDaemon(options: CoreOptions) {
  const core = await openCore(options)
  const { log, stop, version, places, lastStop } = core
  try {
    await startParts(core)
    log.info({ version, socket: places.socketPath, lastStop }, 'memoryd is ready')
    return {
      reload: core.settings.reload,
      events: core.events,
      /** For an error that no caller caught. One of the disk is a condition, and what failed is done by the next look. */
      outlives: (error: unknown): boolean => {
        core.logged('no caller caught an error')(error)
        return isDiskError(error) || isCorruption(error)
      },
      stop: async (drainMs: number) => {
        log.info({ drainMs }, 'memoryd is stopping')
        return (await stop(drainMs)).outcome
      },
    }
  } catch (error) {
    throw await core.couldNotStart(error)
  }
}

async function startParts(core: Core): Promise<void> {
  const { settings, clock, lastStop, db: store } = core
  const { disk, health, log, repaired, lifecycle: parts } = core

  const projects = createProjects(core)
  const memory = parts.add('memory', createMemory(core, projects))

  const model = parts.add('models', createModels(core))
  const jobs = createJobs(core, model)

  const reader = parts.add('transcripts', createTranscriptReader(core, projects, jobs))
  const sessions = createSessions(core, projects, reader)

  const recall = parts.add('recall', createRecall(core, projects, memory, model))
  const agent = createAgentRunner(core, model, sessions)

  const notes = createNotes(core, projects, sessions, agent, model)
  const extraction = createExtraction(core, projects, sessions, memory, notes, agent, model)
  const context = createContext(core, model, sessions, memory, agent, notes, recall)

  const dream = createDream(core, projects, jobs, sessions, memory, agent, model)
  if (dream.recover().length > 0) repaired('put back the lock of a dream that a kill had interrupted')

  const mail = parts.add('mail', createMail(core, projects, sessions, model))

  const purges = createPurges(core, memory, notes.file)
  purges.onPurge(recall.forget)
  const housekeeping = createHousekeeping(core, purges)
  housekeeping.onSweep(context.expire, notes.file.expire, mail.expire, () =>
    jobs.expire(settings.current().retention.days),
  )
  jobs.register(housekeeping.job, reader.importJob, extraction.job, notes.job, dream.job, dream.checkJob)
  jobs.schedule(() => [housekeeping.schedule, ...dream.schedules()])
  reader.onTurnEnded((turn) => {
    jobs.wake()
    dream.turnEnded(turn)
  })

  const hooks = parts.add('hooks', createHooks(core, projects, memory, recall, notes, mail, reader, jobs, sessions))

  const status = () => ({
    mode: model.mode(),
    budget: model.budget(),
    projects: projects.list().map((project) => ({ ...project, ...dream.lastAt(project.memoryDir) })),
    roots: reader.roots(),
    ingest: { lagBytes: reader.lagBytes(), skipped: reader.skipped() },
    jobs: jobs.counts(),
    harnesses: hooks.harnesses(),
  })
  const server = parts.add('http', createServer(core))
  server.add(routes.processRoutes(core, projects, status), routes.hookRoutes(hooks), routes.recallRoutes(recall))
  server.add(
    routes.memoryRoutes(core, projects, memory, recall, purges),
    routes.historyRoutes(memory),
    routes.transferRoutes(memory),
  )
  server.add(routes.sessionRoutes(reader, sessions, notes, agent), routes.jobRoutes(jobs, dream, model))
  server.add(routes.mailRoutes(mail, memory, purges), routes.contextRoutes(context))
  server.onStopping(mail.close)
  await server.listen()

  jobs.start()
  parts.add('jobs', jobs.stop)
  store.onIndexReplaced(reader.indexReplaced)
  parts.add('index check', store.checkIndex(lastStop, disk, repaired))
  memory.start()
  reader.start()
  mail.start()
  recall.start()
  void model.refresh()
  settings.onChange((changed) => {
    log.configure(changed.log)
    // Before what may follow from it: another mode, and jobs that go on.
    health.announce('settings')
    jobs.settingsChanged()
    void model.refresh()
  })
  parts.add('settings', watchSettings(settings, clock, health, log))
}
