/** The memories of the project as resources: listed with their descriptions, read as the markdown they are. */
import type { StrictClient } from '../client.ts'

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
