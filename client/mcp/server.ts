/** The MCP server: the official package on one side, the client on the other. Standard output carries the protocol alone. */
import { McpServer, ProtocolError, ProtocolErrorCode, ResourceTemplate } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { MemoryError } from '../../schema/errors.ts'
import type { StrictClient } from '../client.ts'
import { errorInWords, type Tool, tools } from './tools.ts'

type Deps = {
  client: StrictClient
  /** The project that is meant where a call names none. */
  cwd: string
  version: string
  /** How the user calls memoryd. */
  self: string
  /** What goes wrong apart from calls. Never to standard output. */
  onError: (error: Error) => void
}

const INSTRUCTIONS = `One memory that every coding agent on this machine shares, project by project.
Ask recall before you begin with something that may have been talked about before. Remember what will matter in later sessions, and forget what turned out wrong.`

/** Serves until standard input is closed. */
export function serveMcp({ onError, ...deps }: Deps): { close(): Promise<void> } {
  return serveStdio(() => createServer(deps), { onerror: onError })
}

function createServer({ client, cwd, version, self }: Omit<Deps, 'onError'>): McpServer {
  const server = new McpServer(
    { name: 'memoryd', title: 'memoryd', version },
    { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } }, instructions: INSTRUCTIONS },
  )
  for (const [name, tool] of Object.entries(tools)) register(server, name, tool, { client, cwd, self })
  server.registerResource(
    'memories',
    new ResourceTemplate(MEMORY_TEMPLATE, {
      list: ({ mcpReq }) => asProtocol(listMemories(client, cwd, mcpReq.signal), self),
    }),
    { title: 'Memories', description: 'What is remembered for this project, one file each', mimeType: 'text/markdown' },
    (uri, _variables, { mcpReq }) => asProtocol(readMemory(client, cwd, uri.href, mcpReq.signal), self),
  )
  return server
}

function register(
  server: McpServer,
  name: string,
  tool: Tool,
  { client, cwd, self }: Pick<Deps, 'client' | 'cwd' | 'self'>,
): void {
  const { title, description, input: inputSchema, annotations, run } = tool
  server.registerTool(name, { title, description, inputSchema, annotations }, async (args, { mcpReq }) => {
    const { cwd: folder = cwd, ...rest } = args as { cwd?: string }
    try {
      const text = await run(client, folder, rest as never, { signal: mcpReq.signal, self })
      return { content: [{ type: 'text', text }] }
    } catch (error) {
      return { content: [{ type: 'text', text: errorInWords(error, self) }], isError: true }
    }
  })
}

/** A resource has no other way to say what is wrong. */
async function asProtocol<T>(answer: Promise<T>, self: string): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const isTheirs = error instanceof URIError || (error instanceof MemoryError && THEIRS.includes(error.code))
    const code = isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
    throw new ProtocolError(code, errorInWords(error, self))
  }
}

const THEIRS: readonly MemoryError['code'][] = ['BAD_REQUEST', 'NOT_FOUND', 'REFUSED']

/** The memories of the project as resources: listed with their descriptions, read as the markdown they are. */

const PREFIX = 'memory:///'
/** The rest of the address is the name of the file, with its folders. */
export const MEMORY_TEMPLATE = `${PREFIX}{+file}`
const MARKDOWN = 'text/markdown'

export function addressOf(file: string): string {
  return PREFIX + file.split('/').map(encodeURIComponent).join('/')
}

/** Throws on an address that is not well-formed. */
export function fileOf(address: string): string {
  return address.slice(PREFIX.length).split('/').map(decodeURIComponent).join('/')
}

export async function listMemories(client: StrictClient, cwd: string, signal: AbortSignal) {
  const { items } = await client.memories({ cwd }, { signal })
  return {
    resources: items.map(({ file, name, description, modifiedAt }) => ({
      uri: addressOf(file),
      name: file,
      ...(name !== undefined && { title: name }),
      ...(description !== undefined && { description }),
      mimeType: MARKDOWN,
      annotations: { lastModified: modifiedAt },
    })),
  }
}

export async function readMemory(client: StrictClient, cwd: string, uri: string, signal: AbortSignal) {
  const { content } = await client.memory({ cwd, file: fileOf(uri) }, { signal })
  return { contents: [{ uri, mimeType: MARKDOWN, text: content }] }
}
