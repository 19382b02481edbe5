/** The MCP server: the official package on one side, the client on the other. Standard output carries the protocol alone. */
import type { Readable } from 'node:stream'
import { McpServer, ProtocolError, ProtocolErrorCode, ResourceTemplate } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { MemoryError } from '../../schema/errors.ts'
import type { StrictClient } from '../client.ts'
import { errorInWords, tools } from './tools.ts'

/** `cwd`: the project that is meant where a call names none. `self`: how the user calls memoryd. */
type Served = { client: StrictClient; cwd: string; version: string; self: string }

const INSTRUCTIONS = `One memory that every coding agent on this machine shares, project by project.
Ask recall before you begin with something that may have been talked about before. Remember what will matter in later sessions, and forget what turned out wrong.`

export function serveMcp(served: Served, input: Readable, onError: (error: Error) => void) {
  return serveStdio(() => createServer(served), { transport: new StdioServerTransport(input), onerror: onError })
}

function createServer({ client, cwd, version, self }: Served): McpServer {
  const server = new McpServer(
    { name: 'memoryd', title: 'memoryd', version },
    { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } }, instructions: INSTRUCTIONS },
  )
  for (const [name, { input, run, ...told }] of Object.entries(tools))
    server.registerTool(name, { ...told, inputSchema: input }, async (args, { mcpReq }) => {
      const { cwd: folder = cwd, ...rest } = args as { cwd?: string }
      try {
        const text = await run(client, folder, rest as never, { signal: mcpReq.signal, self })
        return { content: [{ type: 'text', text }] }
      } catch (error) {
        return { content: [{ type: 'text', text: errorInWords(error, self) }], isError: true }
      }
    })
  server.registerResource(
    'memories',
    new ResourceTemplate(`${PREFIX}{+file}`, {
      list: ({ mcpReq }) => asProtocol(listMemories(client, cwd, mcpReq.signal), self),
    }),
    { title: 'Memories', description: 'What is remembered for this project, one file each', mimeType: MARKDOWN },
    (uri, _variables, { mcpReq }) => asProtocol(readMemory(client, cwd, uri.href, mcpReq.signal), self),
  )
  return server
}

/** A resource has no other way to say what is wrong. */
async function asProtocol<T>(answer: Promise<T>, self: string): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const isRefusal = error instanceof MemoryError && ['BAD_REQUEST', 'NOT_FOUND', 'REFUSED'].includes(error.code)
    const isTheirs = isRefusal || error instanceof URIError
    const code = isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
    throw new ProtocolError(code, errorInWords(error, self))
  }
}

const PREFIX = 'memory:///'
const MARKDOWN = 'text/markdown'

async function listMemories(client: StrictClient, cwd: string, signal: AbortSignal) {
  const { items } = await client.memories({ cwd }, { signal })
  return {
    resources: items.map(({ file, name, description, modifiedAt }) => ({
      uri: PREFIX + file.split('/').map(encodeURIComponent).join('/'),
      name: file,
      title: name,
      description,
      mimeType: MARKDOWN,
      annotations: { lastModified: modifiedAt },
    })),
  }
}

async function readMemory(client: StrictClient, cwd: string, uri: string, signal: AbortSignal) {
  const file = uri.slice(PREFIX.length).split('/').map(decodeURIComponent).join('/')
  const { content } = await client.memory({ cwd, file }, { signal })
  return { contents: [{ uri, mimeType: MARKDOWN, text: content }] }
}
