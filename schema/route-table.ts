/** Method and URL of every route, as plain data: all that the client needs of `schema/` at run time. */
export const BODY_LIMIT_BYTES = 1_000_000
const CONVERSATION_LIMIT_BYTES = 32_000_000

/** A caller that asks for a model and names no deadline waits this long. */
export const PATIENT_MS = 20_000

export const JSON_LINES = 'application/x-ndjson'

export type RouteShape = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  /** A stream instead of one JSON answer: server-sent events without end, or a file of JSON lines. */
  stream?: 'events' | 'lines'
  /** The body is a file of JSON lines, of any size, instead of one JSON value. */
  upload?: 'lines'
  /** Of an answer; 200 by default. */
  status?: 202
  /** The status is 200 where the answer lacks this field: nothing was begun. */
  begins?: string
  bodyLimitBytes?: number
  /** The field that says how long the daemon may wait, `wait` in seconds. */
  waits?: 'wait' | 'deadlineMs'
  /** The answer is a text instead of JSON, or 204. */
  plain?: 'text'
  /** Fields that travel in the query though the route has a body. */
  query?: readonly string[]
}

export const routeTable = {
  health: { method: 'GET', url: '/v1/health' },
  status: { method: 'GET', url: '/v1/status' },
  openapi: { method: 'GET', url: '/v1/openapi.json' },
  events: { method: 'GET', url: '/v1/events', stream: 'events' },
  memoryIndex: { method: 'GET', url: '/v1/memory/index' },
  memoryPrompt: { method: 'GET', url: '/v1/memory/prompt' },
  renewPrompt: { method: 'DELETE', url: '/v1/memory/prompt' },
  memories: { method: 'GET', url: '/v1/memories' },
  memory: { method: 'GET', url: '/v1/memories/*' },
  putMemory: { method: 'PUT', url: '/v1/memories/*', query: ['cwd'] },
  forget: { method: 'DELETE', url: '/v1/memories/*' },
  remember: { method: 'POST', url: '/v1/remember' },
  changes: { method: 'GET', url: '/v1/changes' },
  change: { method: 'GET', url: '/v1/changes/:id' },
  undoChange: { method: 'POST', url: '/v1/changes/:id/undo' },
  run: { method: 'GET', url: '/v1/runs/:id' },
  undoRun: { method: 'POST', url: '/v1/runs/:id/undo' },
  tombstones: { method: 'GET', url: '/v1/tombstones' },
  liftTombstone: { method: 'DELETE', url: '/v1/tombstones/:id' },
  reviews: { method: 'GET', url: '/v1/review' },
  decideReview: { method: 'POST', url: '/v1/review/:id' },
  sessions: { method: 'GET', url: '/v1/sessions' },
  session: { method: 'GET', url: '/v1/sessions/:id' },
  notices: { method: 'GET', url: '/v1/sessions/:id/notices' },
  sessionNotes: { method: 'GET', url: '/v1/sessions/:id/notes' },
  recalled: { method: 'GET', url: '/v1/sessions/:id/recalled' },
  jobs: { method: 'GET', url: '/v1/jobs' },
  job: { method: 'GET', url: '/v1/jobs/:id' },
  killJob: { method: 'DELETE', url: '/v1/jobs/:id' },
  retryJob: { method: 'POST', url: '/v1/jobs/:id/retry' },
  dream: { method: 'POST', url: '/v1/dream', status: 202, begins: 'jobId' },
  dreamStatus: { method: 'GET', url: '/v1/dream' },
  agents: { method: 'GET', url: '/v1/agents' },
  registerAgent: { method: 'POST', url: '/v1/agents' },
  sendMail: { method: 'POST', url: '/v1/mail' },
  mail: { method: 'GET', url: '/v1/mail/:agent', waits: 'wait' },
  acknowledgeMail: { method: 'POST', url: '/v1/mail/:agent/ack' },
  agentMemory: { method: 'GET', url: '/v1/agents/:type/memory' },
  agentMemoryFile: { method: 'GET', url: '/v1/agents/:type/memory/*' },
  putAgentMemory: { method: 'PUT', url: '/v1/agents/:type/memory/*', query: ['cwd', 'scope'] },
  forgetAgentMemory: { method: 'DELETE', url: '/v1/agents/:type/memory/*' },
  exportMemories: { method: 'GET', url: '/v1/export', stream: 'lines' },
  importMemories: { method: 'POST', url: '/v1/memories/import', upload: 'lines', query: ['cwd'] },
  pushTurn: { method: 'POST', url: '/v1/turns', status: 202, bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  measureContext: { method: 'POST', url: '/v1/context/measure', bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  microcompact: { method: 'POST', url: '/v1/context/microcompact', bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  compact: { method: 'POST', url: '/v1/context/compact', bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  keepToolResults: { method: 'POST', url: '/v1/tool-results', bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  toolResult: { method: 'GET', url: '/v1/tool-results/:session/:id' },
  importTranscripts: { method: 'POST', url: '/v1/import' },
  moveProject: { method: 'POST', url: '/v1/projects/move' },
  recall: { method: 'POST', url: '/v1/recall', waits: 'deadlineMs' },
  prefetchRecall: { method: 'POST', url: '/v1/recall/prefetch' },
  collectRecall: { method: 'GET', url: '/v1/recall/:ticket', status: 202, begins: 'pending' },
  cancelRecall: { method: 'DELETE', url: '/v1/recall/:ticket' },
  search: { method: 'GET', url: '/v1/search' },
  instructions: { method: 'GET', url: '/v1/instructions' },
  cost: { method: 'GET', url: '/v1/cost' },
  hook: { method: 'POST', url: '/v1/hooks/:harness', plain: 'text', bodyLimitBytes: CONVERSATION_LIMIT_BYTES },
  pause: { method: 'POST', url: '/v1/pause' },
  resume: { method: 'POST', url: '/v1/resume' },
} as const satisfies Record<string, RouteShape>

export type RouteName = keyof typeof routeTable
