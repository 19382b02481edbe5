/** Every route with its validators. Validation, types, the client's methods and the OpenAPI document follow from this. */
import { z } from 'zod'
import { AgentList, AgentRegistration, RegisteredAgent } from './agent.ts'
import { AgentFileParams, AgentForgetQuery, AgentMemory, AgentParams, AgentQuery } from './agent-memory.ts'
import {
  Change,
  ChangeList,
  ChangeParams,
  ChangesQuery,
  Decided,
  Decision,
  Nothing,
  ReviewList,
  Run,
  RunParams,
  TombstoneList,
  Undone,
} from './change.ts'
import {
  Compacted,
  CompactRequest,
  Measured,
  MeasureRequest,
  Microcompacted,
  MicrocompactRequest,
  ToolResultParams,
  ToolResultPiece,
  ToolResultQuery,
  ToolResultsKept,
  ToolResultsRequest,
} from './context.ts'
import { CostList, CostQuery } from './cost.ts'
import { DreamBegun, DreamQuery, DreamRequest, DreamStatus } from './dream.ts'
import type { HttpCode } from './errors.ts'
import { Event } from './event.ts'
import { ExportLine, Imported } from './export.ts'
import { Health } from './health.ts'
import { HookInput, HookOutput, HookParams } from './hook.ts'
import { ImportBegun, ImportRequest } from './import.ts'
import { InstructionList } from './instruction.ts'
import { JobList, JobParams, JobsQuery, OneJob } from './job.ts'
import { Acknowledged, Acknowledgement, Letter, MailboxParams, MailList, MailQuery, Sent } from './mail.ts'
import {
  CwdQuery,
  FileParams,
  ForgetQuery,
  Forgotten,
  MemoriesQuery,
  Memory,
  MemoryIndex,
  MemoryList,
  MemoryQuery,
  PutMemory,
  Remembered,
  RememberRequest,
  Written,
} from './memory.ts'
import { Moved, MoveRequest } from './move.ts'
import { MemoryPrompt, PromptQuery, RenewQuery } from './prompt.ts'
import { Cancelled, Collected, GivenList, RecallAnswer, RecallRequest, Ticket, TicketParams } from './recall.ts'
import { type RouteName, type RouteShape, routeTable } from './route-table.ts'
import { FoundList, SearchQuery } from './search.ts'
import {
  NoticeList,
  NoticesQuery,
  OneSession,
  SessionList,
  SessionNotes,
  SessionParams,
  SessionQuery,
  SessionsQuery,
} from './session.ts'
import { Status } from './status.ts'
import { Paused, SwitchRequest } from './switches.ts'
import { TurnPushed, TurnRequest } from './turn.ts'

export type Route = Omit<RouteShape, 'query'> & {
  summary: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /** One line of an upload. */
  line?: z.ZodType
  answer: z.ZodType
  /** What this route may answer besides `universalCodes`. */
  errors: readonly HttpCode[]
}

export const routes = {
  health: { ...routeTable.health, summary: 'Whether the daemon answers', answer: Health, errors: [] },
  status: { ...routeTable.status, summary: 'How the daemon is doing', answer: Status, errors: [] },
  openapi: {
    ...routeTable.openapi,
    summary: 'This interface as an OpenAPI 3.1 document',
    answer: z.looseObject({ openapi: z.string() }),
    errors: [],
  },
  events: { ...routeTable.events, summary: 'What happens, as it happens', answer: Event, errors: [] },
  memoryIndex: {
    ...routeTable.memoryIndex,
    summary: 'The index of the memories of the project, ready for a context',
    query: CwdQuery,
    answer: MemoryIndex,
    errors: ['REFUSED'],
  },
  memoryPrompt: {
    ...routeTable.memoryPrompt,
    summary: 'What a harness tells its model about memory; the same bytes for the whole of a session',
    query: PromptQuery,
    answer: MemoryPrompt,
    errors: ['REFUSED'],
  },
  renewPrompt: {
    ...routeTable.renewPrompt,
    summary: 'The session was cleared or compacted: its next prompt is made anew',
    query: RenewQuery,
    answer: Nothing,
    errors: [],
  },
  memories: {
    ...routeTable.memories,
    summary: 'The memories of the project',
    query: MemoriesQuery,
    answer: MemoryList,
    errors: ['REFUSED'],
  },
  memory: {
    ...routeTable.memory,
    summary: 'One memory, as it is or as it was',
    params: FileParams,
    query: MemoryQuery,
    answer: Memory,
    errors: ['REFUSED'],
  },
  putMemory: {
    ...routeTable.putMemory,
    summary: 'Write a memory',
    params: FileParams,
    query: CwdQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  forget: {
    ...routeTable.forget,
    summary: 'Delete a memory: for now, for good (reject), or without a trace (purge)',
    params: FileParams,
    query: ForgetQuery,
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  remember: {
    ...routeTable.remember,
    summary: 'Keep something as a memory',
    body: RememberRequest,
    answer: Remembered,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  changes: {
    ...routeTable.changes,
    summary: 'What happened to the memories of the project',
    query: ChangesQuery,
    answer: ChangeList,
    errors: ['REFUSED'],
  },
  change: {
    ...routeTable.change,
    summary: 'One change, with what was before and after it',
    params: ChangeParams,
    answer: Change,
    errors: [],
  },
  undoChange: {
    ...routeTable.undoChange,
    summary: 'Put back what was before a change',
    params: ChangeParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  run: {
    ...routeTable.run,
    summary: 'What a run did',
    params: RunParams,
    answer: Run,
    errors: [],
  },
  undoRun: {
    ...routeTable.undoRun,
    summary: 'Put back what was before all changes of a run',
    params: RunParams,
    answer: Undone,
    errors: ['CONFLICT', 'REFUSED'],
  },
  tombstones: { ...routeTable.tombstones, summary: 'What was rejected for good', answer: TombstoneList, errors: [] },
  liftTombstone: {
    ...routeTable.liftTombstone,
    summary: 'Let something that was rejected be said again',
    params: ChangeParams,
    answer: Nothing,
    errors: ['REFUSED'],
  },
  reviews: { ...routeTable.reviews, summary: 'Changes that wait for a person', answer: ReviewList, errors: [] },
  decideReview: {
    ...routeTable.decideReview,
    summary: 'Approve or reject a change that waits',
    params: ChangeParams,
    body: Decision,
    answer: Decided,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  sessions: {
    ...routeTable.sessions,
    summary: 'The sessions of the project',
    query: SessionsQuery,
    answer: SessionList,
    errors: [],
  },
  session: {
    ...routeTable.session,
    summary: 'One session with its turns, read back from its transcript',
    params: SessionParams,
    query: SessionQuery,
    answer: OneSession,
    errors: ['CONFLICT'],
  },
  notices: {
    ...routeTable.notices,
    summary: 'What was saved of what was said in a session',
    params: SessionParams,
    query: NoticesQuery,
    answer: NoticeList,
    errors: [],
  },
  sessionNotes: {
    ...routeTable.sessionNotes,
    summary: 'The running summary of a session',
    params: SessionParams,
    query: SessionQuery,
    answer: SessionNotes,
    errors: ['CONFLICT'],
  },
  recalled: {
    ...routeTable.recalled,
    summary: 'Which memories a session was given',
    params: SessionParams,
    query: SessionQuery,
    answer: GivenList,
    errors: [],
  },
  jobs: {
    ...routeTable.jobs,
    summary: 'What is due, what runs, and what became of it',
    query: JobsQuery,
    answer: JobList,
    errors: [],
  },
  job: { ...routeTable.job, summary: 'One job with what came of it', params: JobParams, answer: OneJob, errors: [] },
  killJob: {
    ...routeTable.killJob,
    summary: 'Stop a job, or keep it from starting',
    params: JobParams,
    answer: OneJob,
    errors: ['CONFLICT'],
  },
  retryJob: {
    ...routeTable.retryJob,
    summary: 'Try a job again now that was given up, killed, or waits',
    params: JobParams,
    answer: OneJob,
    errors: ['CONFLICT', 'REFUSED'],
  },
  dream: {
    ...routeTable.dream,
    summary: 'Put the memories of a project in order, or tell why not now',
    body: DreamRequest,
    answer: DreamBegun,
    errors: ['REFUSED'],
  },
  dreamStatus: {
    ...routeTable.dreamStatus,
    summary: 'The dream of a project that goes on, and what came of the last one',
    query: DreamQuery,
    answer: DreamStatus,
    errors: ['REFUSED'],
  },
  agents: {
    ...routeTable.agents,
    summary: 'The agents on this machine, as they registered',
    answer: AgentList,
    errors: [],
  },
  registerAgent: {
    ...routeTable.registerAgent,
    summary: 'Say who one is, so that others can write to one; may be said again',
    body: AgentRegistration,
    answer: RegisteredAgent,
    errors: ['CONFLICT'],
  },
  sendMail: {
    ...routeTable.sendMail,
    summary: 'Write to another agent, or to all: it is kept until it was read',
    body: Letter,
    answer: Sent,
    errors: ['CONFLICT', 'REFUSED'],
  },
  mail: {
    ...routeTable.mail,
    summary: 'The mail that an agent or a session has not acknowledged yet; waits for some if asked to',
    params: MailboxParams,
    query: MailQuery,
    answer: MailList,
    errors: [],
  },
  acknowledgeMail: {
    ...routeTable.acknowledgeMail,
    summary: 'It was read: it does not come again',
    params: MailboxParams,
    body: Acknowledgement,
    answer: Acknowledged,
    errors: [],
  },
  agentMemory: {
    ...routeTable.agentMemory,
    summary: 'What a sub-agent is told about its own memory, with its index',
    params: AgentParams,
    query: AgentQuery,
    answer: AgentMemory,
    errors: ['REFUSED'],
  },
  agentMemoryFile: {
    ...routeTable.agentMemoryFile,
    summary: "One of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentQuery,
    answer: Memory,
    errors: ['REFUSED'],
  },
  putAgentMemory: {
    ...routeTable.putAgentMemory,
    summary: "Write one of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentQuery,
    body: PutMemory,
    answer: Written,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  forgetAgentMemory: {
    ...routeTable.forgetAgentMemory,
    summary: "Delete one of a sub-agent's own memories",
    params: AgentFileParams,
    query: AgentForgetQuery,
    answer: Forgotten,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  exportMemories: {
    ...routeTable.exportMemories,
    summary: 'The memories of the project with their journal, as one file',
    query: CwdQuery,
    answer: ExportLine,
    errors: ['CONFLICT', 'REFUSED'],
  },
  importMemories: {
    ...routeTable.importMemories,
    summary: 'Take in a file that was exported, as one run; what is there is never written over',
    query: CwdQuery,
    line: ExportLine,
    answer: Imported,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  pushTurn: {
    ...routeTable.pushTurn,
    summary: 'A turn that has ended, from a harness that writes no transcripts, or the transcript it stands in',
    body: TurnRequest,
    answer: TurnPushed,
    errors: ['MEMORY_OFF', 'REFUSED'],
  },
  measureContext: {
    ...routeTable.measureContext,
    summary: 'How full a context is, and what that means',
    body: MeasureRequest,
    answer: Measured,
    errors: [],
  },
  microcompact: {
    ...routeTable.microcompact,
    summary: 'Clear old results of tools, without a model',
    body: MicrocompactRequest,
    answer: Microcompacted,
    errors: [],
  },
  compact: {
    ...routeTable.compact,
    summary: 'Make a conversation fit again: from its notes, by a model, or without one',
    body: CompactRequest,
    answer: Compacted,
    errors: ['CONFLICT'],
  },
  keepToolResults: {
    ...routeTable.keepToolResults,
    summary: 'Results of tools: long ones are kept in files, and what goes into the context is decided once',
    body: ToolResultsRequest,
    answer: ToolResultsKept,
    errors: [],
  },
  toolResult: {
    ...routeTable.toolResult,
    summary: 'A result that is kept, or a part of it',
    params: ToolResultParams,
    query: ToolResultQuery,
    answer: ToolResultPiece,
    errors: [],
  },
  importTranscripts: {
    ...routeTable.importTranscripts,
    summary: 'Read all transcripts in a folder; events of the type `job` tell how far it is',
    body: ImportRequest,
    answer: ImportBegun,
    errors: ['REFUSED'],
  },
  moveProject: {
    ...routeTable.moveProject,
    summary: 'Let memories follow a project that was moved',
    body: MoveRequest,
    answer: Moved,
    errors: ['CONFLICT', 'MEMORY_OFF', 'REFUSED'],
  },
  recall: {
    ...routeTable.recall,
    summary: 'The memories that help with a question, ready for a context',
    body: RecallRequest,
    answer: RecallAnswer,
    errors: ['REFUSED'],
  },
  prefetchRecall: {
    ...routeTable.prefetchRecall,
    summary: 'Begin a recall, to collect it later',
    body: RecallRequest,
    answer: Ticket,
    errors: ['REFUSED'],
  },
  collectRecall: {
    ...routeTable.collectRecall,
    summary: 'What became of a recall that was begun: once, and 202 while nobody knows yet',
    params: TicketParams,
    answer: Collected,
    errors: ['REFUSED'],
  },
  cancelRecall: {
    ...routeTable.cancelRecall,
    summary: 'Give up a recall that was begun; a model that is being asked is no longer waited for',
    params: TicketParams,
    answer: Cancelled,
    errors: [],
  },
  search: {
    ...routeTable.search,
    summary: 'What was said about something in the sessions of the project',
    query: SearchQuery,
    answer: FoundList,
    errors: ['REFUSED'],
  },
  instructions: {
    ...routeTable.instructions,
    summary: 'The instruction files that apply in a folder',
    query: CwdQuery,
    answer: InstructionList,
    errors: ['REFUSED'],
  },
  cost: {
    ...routeTable.cost,
    summary: 'What models have cost, by day, project or job',
    query: CostQuery,
    answer: CostList,
    errors: [],
  },
  hook: {
    ...routeTable.hook,
    summary: 'What a hook of a harness was given; answers what the hook is to print',
    params: HookParams,
    body: HookInput,
    answer: HookOutput,
    errors: [],
  },
  pause: {
    ...routeTable.pause,
    summary: 'Switch capture and recall off, everywhere or below one folder',
    body: SwitchRequest,
    answer: Paused,
    errors: [],
  },
  resume: {
    ...routeTable.resume,
    summary: 'Switch capture and recall on again',
    body: SwitchRequest,
    answer: Paused,
    errors: ['CONFLICT'],
  },
} as const satisfies { [K in RouteName]: Route }
