/** One raw HTTP request over the socket, for what the client would never send. */
import { request } from 'node:http'

export type RawAnswer = { status: number; headers: Record<string, unknown>; body: string }

export function rawRequest(
  socketPath: string,
  {
    method = 'GET',
    path,
    headers = {},
    body,
  }: { method?: string; path: string; headers?: Record<string, string>; body?: string },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, method, path, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
