/** A model that only says that it is done, behind the Gemini API on loopback, and keeps what it was asked. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export async function startGemini(): Promise<{ url: string; requests: unknown[] }> {
  const requests: unknown[] = []
  const answer = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Done.' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { pathname } = new URL(request.url ?? '/', 'http://model')
    if (request.method !== 'POST') return void response.writeHead(404).end('{}')
    requests.push(JSON.parse(Buffer.concat(chunks).toString()))
    if (pathname.endsWith(':streamGenerateContent')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      return void response.end(`data: ${JSON.stringify(answer)}\r\n\r\n`)
    }
    const body = pathname.endsWith(':countTokens') ? { totalTokens: 1 } : answer
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}
