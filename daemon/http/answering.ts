/** Composes what is answered: every route with the part that answers it. */
import type { Caller } from '../../schema/caller.ts'
import type { Fitting } from '../context/fitting.ts'
import type { Core } from '../core.ts'
import type { createDreaming } from '../dream/dreaming.ts'
import type { createTelling } from '../extraction/telling.ts'
import type { Hooking } from '../hooks/hooks.ts'
import { loadInstructions, MANAGED_FILE } from '../instructions/instructions.ts'
import type { Background } from '../jobs/background.ts'
import type { MailService } from '../mail/mail.ts'
import type { createMemory } from '../memory/memory.ts'
import { costOf } from '../models/cost.ts'
import type { Model } from '../models/model.ts'
import type { Notes } from '../notes/notes.ts'
import { configDirOf, mergeVariables } from '../projects/memory-dir.ts'
import type { Switches } from '../projects/projects.ts'
import type { Recall } from '../recall/recall.ts'
import type { Capture } from '../transcripts/capture.ts'
import type { EventStreams } from './event-stream.ts'
import { agentRoutes } from './routes/agents.ts'
import { carryingRoutes } from './routes/carrying.ts'
import { contextRoutes } from './routes/context.ts'
import { costRoutes } from './routes/cost.ts'
import { dreamRoutes } from './routes/dreams.ts'
import { historyRoutes } from './routes/history.ts'
import { hookRoutes } from './routes/hooks.ts'
import { instructionRoutes } from './routes/instructions.ts'
import { jobRoutes } from './routes/jobs.ts'
import { mailRoutes } from './routes/mail.ts'
import { memoryRoutes } from './routes/memories.ts'
import { processRoutes } from './routes/process.ts'
import { promptRoutes } from './routes/prompt.ts'
import { recallRoutes } from './routes/recall.ts'
import { searchRoutes } from './routes/search.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { switchRoutes } from './routes/switches.ts'
import { transcriptRoutes } from './routes/transcripts.ts'
import type { Handlers } from './server.ts'

type Deps = {
  streams: EventStreams
  switches: Switches
  memory: ReturnType<typeof createMemory>
  capture: Capture
  model: Model
  telling: ReturnType<typeof createTelling>
  notes: Notes
  recall: Recall
  dreaming: ReturnType<typeof createDreaming>
  background: Background
  fitting: () => Promise<Fitting>
  mail: MailService
  hooking: Hooking
}

export function createHandlers(core: Core, deps: Deps): Handlers {
  const { places, env, settings } = core
  const { streams, switches, memory, capture, model } = deps
  const { telling, notes, recall, dreaming, background, fitting, mail, hooking } = deps
  const instructions = async (cwd: string, caller: Caller) => {
    const claudeDir = configDirOf(mergeVariables(env, caller.env), places.home)
    const { agentsMd } = settings.current().instructions
    const { root } = memory.find(cwd, caller)
    const base = { cwd, root, claudeDir, managedFile: MANAGED_FILE, home: places.home, agentsMd }
    const { path, content } = memory.reading.index(cwd, caller)
    const { items } = loadInstructions(base)
    return { items: content === '' ? items : [...items, { kind: 'memory' as const, path, content }] }
  }
  return {
    ...processRoutes(core, streams, () => ({
      mode: model.mode(),
      budget: model.budget(),
      paused: switches.paused(),
      projects: memory.projects().map((project) => ({ ...project, ...dreaming.lastAt(project.memoryDir) })),
      roots: capture.reading.roots(),
      ingest: capture.ingest(),
      jobs: background.counts(),
      harnesses: hooking.harnesses(),
    })),
    ...switchRoutes(switches),
    ...hookRoutes(hooking),
    ...memoryRoutes(memory),
    ...promptRoutes({
      prompting: {
        prompt: memory.prompting.prompt,
        // What a session no longer remembers it may be told again.
        renew: (session) => {
          memory.prompting.renew(session)
          recall.reset(session)
        },
      },
    }),
    ...recallRoutes(recall),
    ...historyRoutes(memory),
    ...agentRoutes(memory.agents),
    ...mailRoutes(mail),
    ...carryingRoutes(memory),
    ...jobRoutes(background.answers),
    ...dreamRoutes(dreaming),
    ...sessionRoutes({
      ...capture.sessions,
      notices: telling.list,
      notes: (id, harness) => {
        const session = capture.sessions.known(id, harness)
        return notes.answer({ harness: session.harness, session: session.id })
      },
    }),
    ...searchRoutes(capture.search),
    ...transcriptRoutes({
      pushing: capture.pushing,
      importFrom: async (dir, harness) => ({
        jobId: background.enqueue(await capture.importing.due(dir, harness)).id,
      }),
    }),
    ...contextRoutes(fitting),
    ...costRoutes({ cost: (by, days) => costOf(model, by, days) }),
    ...instructionRoutes({ load: instructions }),
  }
}
