/** The composition root: every part of the daemon, in the order data flows. Stopping runs it backwards. */
import { join } from 'node:path'
import type { RecallAnswer } from '../schema/recall.ts'
import type { Environment, Places } from '../schema/rendezvous.ts'
import { createHandlers } from './answering.ts'
import { createBackground } from './background.ts'
import { createCapture } from './capture.ts'
import { createCompany } from './company.ts'
import type { LiveSettings } from './config/live.ts'
import { startReloading } from './config/reload.ts'
import { createDreaming } from './dreaming.ts'
import type { Fitting } from './fitting.ts'
import { createForking } from './forking.ts'
import type { Recalled } from './harness/hooks.ts'
import { createHooking } from './hooking.ts'
import { createHouse } from './house.ts'
import { removeLeftovers } from './housekeeping/sweep.ts'
import { bindServer } from './http/binding.ts'
import { createEventStreams } from './http/event-stream.ts'
import { createServer } from './http/server.ts'
import { createLearning } from './learning.ts'
import { createModel } from './llm/model.ts'
import { agentDirOf, isAgentDir, isAgentPlace } from './locate/agent-dir.ts'
import { createLocator } from './locate/locate.ts'
import { configDirOf, isMemoryPlace } from './locate/memory-dir.ts'
import { findProjectRoot } from './locate/project-root.ts'
import { mergeVariables } from './locate/variables.ts'
import { createMemory } from './memory/memory.ts'
import { createNotesFiles } from './notes/files.ts'
import { createNoting } from './noting.ts'
import type { Clock } from './platform/clock.ts'
import { createConditions } from './platform/conditions.ts'
import { createDisk } from './platform/disk.ts'
import { createEvents } from './platform/events.ts'
import { message } from './platform/files.ts'
import { undoOf } from './platform/if-lost.ts'
import { createLog, type LogTarget } from './platform/log.ts'
import { createParts } from './platform/parts.ts'
import { passedSocket } from './platform/socket.ts'
import { createVigils } from './platform/vigil.ts'
import { createRecall } from './recall/recall.ts'
import { createStatusBoard } from './status/board.ts'
import { storeLayout } from './store/layout.ts'
import { createLedger } from './store/ledger.ts'
import { createPauses } from './store/pauses.ts'
import { createRecalledRows } from './store/recalled.ts'
import { createSaid } from './store/said.ts'
import { createNotesTable } from './store/session-notes.ts'
import { openStore } from './store/store.ts'
import { createSwitches } from './switches/switches.ts'

export type DaemonDeps = {
  places: Places
  settings: LiveSettings
  env: Environment
  clock: Clock
  version: string
  lastStop: 'clean' | 'unclean'
  terminal: LogTarget['terminal']
}

export type Daemon = {
  reload(): void
  /** The last words of a process that is about to die of a bug. */
  logCrash(error: unknown): void
  /** Lets running work finish for up to `drainMs`, then stops every part, last started first. */
  stop(drainMs: number): Promise<'clean' | 'unclean'>
}

/** So much of a backlog is read first: every job that is settled meanwhile would hold up the reading. */
const MUCH_TO_READ_BYTES = 500_000

/** Of a prompt, to find memories by. */
const LONGEST_PROMPT = 100_000

/** Loaded with the first text that is looked through: its patterns would cost every start. */
const redact = async (text: string) => (await import('./secrets/redact.ts')).redactSecrets(text)

export async function startDaemon(deps: DaemonDeps): Promise<Daemon> {
  const { places, settings, env, clock, version, lastStop, terminal } = deps
  const { stateDir, configFile, socketPath } = places
  const layout = storeLayout(stateDir)
  const parts = createParts(clock)

  // What everything else reports to.
  const events = createEvents(clock)
  const conditions = createConditions({
    clock,
    onChange: (news) => {
      if ('raised' in news) log.warn({ condition: news.raised.code }, news.raised.message)
      else log.info({ condition: news.cleared }, 'is over')
      board.announce('condition')
    },
  })
  const board = createStatusBoard({ clock, conditions, events, places, version })
  let onDiskRecovered = () => {}
  const disk = createDisk({ stateDir, clock, conditions, onRecovered: () => onDiskRecovered() })
  parts.add('disk', disk.stop)
  const log = createLog(settings.current().log, { file: places.logFile, terminal, clock, onTrouble: disk.failed })
  parts.add('log', log.close)
  const stop = (drainMs: number) =>
    parts.stop(drainMs, ({ part, error }) => log.error({ part, err: error }, 'did not stop in order'))
  const repaired = (what: unknown) => {
    conditions.failed('store', message(what))
    log.warn(message(what))
  }

  try {
    // What is kept.
    removeLeftovers([stateDir, layout.backups, layout.corrupt])
    const store = openStore(stateDir, clock.now())
    parts.add('store', store.close)
    store.repairs.forEach(repaired)
    const pauses = createPauses(store.history)
    const locator = createLocator({ env, home: places.home, clock })
    const rootOf = (cwd: string) => findProjectRoot(cwd).root
    const switches = createSwitches({
      pauses,
      clock,
      rootOf,
      privatePaths: () => settings.current().private,
      onChange: () => {
        memory.forgetAnswers()
        board.announce('paused')
      },
    })
    const notesFiles = createNotesFiles({ stateDir, table: createNotesTable(store.history) })
    const vigils = createVigils({ clock })
    parts.add('vigils', vigils.stop)
    const memory = createMemory({
      store,
      keepers: [() => notesFiles.emptyAll(), (purged) => recall.forget(purged)],
      stateDir,
      clock,
      redact,
      vigils,
      locate: locator.locate,
      placeOf: locator.placeOf,
      offBecause: switches.because,
      agentDir: (root, callerEnv, agent) =>
        agentDirOf({ root, home: places.home, variables: mergeVariables(env, callerEnv), ...agent }),
      isPlace: (dir) => (isAgentDir(dir) ? isAgentPlace(dir) : isMemoryPlace(dir, places.home)),
      settings: {
        reviewRequired: () => settings.current().review === 'required',
        teamEnabled: () => settings.current().team.enabled,
        logsEnabled: () => settings.current().dailyLog.enabled,
      },
      guidelines: (caller) => mergeVariables(env, caller.env).CLAUDE_COWORK_MEMORY_EXTRA_GUIDELINES,
      conditions,
      onChange: (dir, files, actor) => {
        recall.changed(dir, files)
        events.publish({ type: 'saved', dir, files, actor })
      },
      onError: (error) => {
        if (!disk.blames(error)) log.error({ err: error }, 'a memory directory could not be looked through')
      },
      onDiskTrouble: (error) => disk.failed(message(error)),
    })
    parts.add('memory', memory.stop)
    const recall = createRecall({
      texts: memory.texts,
      rows: createRecalledRows(store.history),
      vigils,
      redact,
      find: memory.findAgain,
      driftOf: (dir, text) => dreaming.driftIn(dir, text),
      model: {
        isReady: () => model.waits() === undefined,
        provider: (project) => model.provider({ job: 'recall', project }),
      },
      settings: () => {
        const { recall, model, team } = settings.current()
        return { ...recall, model: model.select, teamEnabled: team.enabled }
      },
      clock,
      onError: (error) => {
        if (!disk.blames(error)) log.error({ err: error }, 'recall failed beside an answer')
      },
    })
    parts.add('recall', recall.stop)
    // Not by their names, which may be made of a person's words: those would stay in the log when a memory is purged.
    const { completed, problems } = memory.recovery
    if (completed.length > 0) repaired(`completed changes that a kill had interrupted: ${completed.length}`)
    for (const problem of problems) repaired(`could not look after ${problem}`)
    for (const move of await memory.finishMoves()) repaired(move)

    // What is read.
    const capture = createCapture({
      store,
      layout,
      stateDir,
      settings,
      clock,
      conditions,
      events,
      log,
      redact,
      rootOf,
      projectOf: memory.find,
      blamesDisk: disk.blames,
      onTurn: (turn) => {
        background.wake()
        dreaming.turnEnded(turn)
      },
      jobsOf: ({ harness, sessionId }, sinceMs) =>
        background.ofKey(['extract', 'notes'], `${harness} ${sessionId}`, sinceMs),
      handOver: (session, prefix) => forking.handOver(session, prefix),
    })
    const { reading } = capture
    parts.add('reading transcripts', reading.stop)

    // What is asked of models.
    const model = createModel({
      env,
      settings: settings.current,
      ledger: createLedger(store.history),
      clock,
      redact,
      onTrouble: (trouble) => (trouble ? conditions.raise('key', trouble) : conditions.clear('key')),
      onModeChange: () => {
        board.announce('mode')
        background.resume()
      },
    })
    parts.add('model', model.stop)

    const said = createSaid(store.index)
    const forking = createForking({
      store,
      said,
      stateDir,
      settings,
      model,
      clock,
      log,
      searchPath: env.PATH ?? '/usr/bin:/bin',
      redact,
      notesOf: (session) => noting.textOf(session),
    })

    let made: Promise<Fitting> | undefined
    const load = async () =>
      (await import('./fitting.ts')).createFitting({
        store,
        said,
        stateDir,
        settings,
        env,
        model,
        forking,
        clock,
        redact,
        rootOf,
        notesOf: (session) => {
          const { content, lastMessageId = '', runningSinceMs } = noting.notesFor(session)
          return { text: content, lastMessageId, runningSinceMs }
        },
        onCompacted: ({ harness, session }) => {
          memory.prompting.renew({ harness, sessionId: session })
          recall.reset({ harness, sessionId: session })
        },
        onError: (error) => {
          if (!disk.blames(error)) log.error({ err: error }, 'a compaction was done and could not be told of')
        },
      })
    const fitting = () => {
      made ??= load()
      return made
    }

    // What is kept of what was said.
    const learning = createLearning({
      store,
      said,
      settings,
      clock,
      memory,
      model,
      forking,
      home: places.home,
      redact,
      blamesDisk: disk.blames,
    })

    const noting = createNoting({
      files: notesFiles,
      said,
      forking,
      model,
      modelName: () => settings.current().model.notes,
      redact,
      placeOf: (cwd) => memory.find(cwd, { actor: 'agent:notes', env: {} }),
      settings: () => settings.current().notes,
      claudeDir: configDirOf(env, places.home),
      conditions,
      blamesDisk: disk.blames,
      clock,
    })

    // What is put in order.
    const dreaming = createDreaming({
      store,
      stateDir,
      env,
      settings,
      clock,
      events,
      memory,
      switches,
      model,
      forking,
      redact,
      notify: learning.telling.dreamed,
      enqueue: (due) => background.enqueue(due),
      blamesDisk: disk.blames,
      onError: (error) => {
        if (!disk.blames(error)) log.error({ err: error }, 'could not look whether a dream is due')
      },
    })
    if (dreaming.recover().length > 0) repaired('put back the lock of a dream that a kill had interrupted')

    // What agents have of each other.
    const company = createCompany({
      store,
      said,
      settings,
      model,
      clock,
      events,
      log,
      redact,
      rootOf,
      isOff: (cwd) => switches.because(cwd, rootOf(cwd)) !== undefined,
    })
    parts.add('status lines', company.summaries.stop)

    // What happens while nobody asks.
    const house = createHouse({
      store,
      layout,
      stateDir,
      settings,
      clock,
      conditions,
      log,
      finishPurges: memory.finishPurges,
      sessionsDir: capture.sessionsDir,
      toolResults: join(stateDir, 'tool-results'),
      expireJobs: (days) => background.expire(days),
      expireMail: company.expire,
      blamesDisk: disk.blames,
    })
    const background = createBackground({
      store,
      clock,
      events,
      conditions,
      log,
      blamesDisk: disk.blames,
      kinds: [house.kind, capture.importKind, learning.kind, noting.kind, ...dreaming.kinds],
      schedules: () => [house.schedule, ...dreaming.schedules()],
      isOnline: () => model.mode() === 'online',
      modelWaits: model.waits,
      isBusy: () => reading.lagBytes() > MUCH_TO_READ_BYTES,
    })
    onDiskRecovered = () => {
      background.resume()
      reading.diskRecovered()
    }

    const hooking = createHooking({
      store,
      stateDir,
      settings,
      clock,
      memory,
      capture,
      background,
      isKnown: ({ harness, sessionId }) => said.session(harness, sessionId) !== undefined,
      forgetsGiven: recall.reset,
      recall: async ({ mostBytes, query, ...asked }, caller) => {
        const request = { ...asked, query: query.slice(0, LONGEST_PROMPT), mode: 'auto' as const }
        return toldOf(await recall.hook(request, caller, mostBytes))
      },
      recallAgain: async ({ mostBytes, ...session }, caller) => toldOf(await recall.again(session, caller, mostBytes)),
      readAhead: recall.readAhead,
      notesOf: ({ harness, sessionId }) => noting.textOf({ harness, session: sessionId }),
      mailFor: ({ sessionId }) => company.mailOf(`session:${sessionId}`),
      acknowledge: ({ sessionId }, ids) => void company.mailbox.acknowledge(`session:${sessionId}`, ids.map(Number)),
      onError: (error) => {
        if (!disk.blames(error)) log.error({ err: error }, 'a hook could not be looked after')
      },
    })
    parts.add('hooks', hooking.stop)

    // What is answered.
    const streams = createEventStreams(events.subscribe, () => log.info('dropped an event reader that fell behind'))
    const server = await createServer({
      handlers: createHandlers({
        places,
        env,
        settings,
        version,
        board,
        streams,
        switches,
        memory,
        capture,
        model,
        telling: learning.telling,
        noting,
        recall,
        dreaming,
        background,
        fitting,
        company,
        hooking,
      }),
      log,
      onDiskTrouble: (error) => disk.failed(message(error)),
    })
    parts.add('server', (signal) => {
      streams.closeAll()
      company.mailbox.close()
      return server.close(signal)
    })
    const passed = passedSocket(env, process.pid)
    const binding = await bindServer({ server, path: socketPath, passed, clock, conditions, log })
    parts.add('binding', binding.stop)

    background.start()
    parts.add('jobs', background.stop)
    if (lastStop === 'unclean') {
      const giveUp = new AbortController()
      const checked = store.checkIndex(giveUp.signal).then((what) => {
        if (!what) return
        repaired(what)
        reading.indexReplaced()
      }, repaired)
      parts.add('index check', () => {
        giveUp.abort()
        return checked
      })
    }
    memory.watching.start()
    parts.add('watching memories', memory.watching.stop)
    reading.start()
    company.summaries.start()
    void model.refresh()
    const reloading = startReloading({
      file: configFile,
      settings,
      conditions,
      log,
      onChange: (changed) => {
        log.configure(changed.log)
        memory.forgetAnswers()
        reading.settingsChanged()
        company.summaries.start()
        // Before what may follow from it: another mode, and jobs that go on.
        board.announce('settings')
        background.settingsChanged()
        void model.refresh()
      },
    })
    parts.add('settings', reloading.stop)

    log.info({ version, socket: socketPath, lastStop }, 'memoryd is ready')
    return {
      reload: reloading.reload,
      logCrash: (error) => log.error({ err: error }, 'memoryd crashed'),
      stop: async (drainMs) => {
        log.info({ drainMs }, 'memoryd is stopping')
        return (await stop(drainMs)).outcome
      },
    }
  } catch (error) {
    log.error({ err: error }, 'memoryd could not start')
    await stop(0)
    throw error
  }
}

function toldOf(answer: RecallAnswer): Recalled {
  return { text: answer.text, undo: undoOf(answer) }
}
