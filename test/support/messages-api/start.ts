/** The scripted server for the length of a test. */
import { onTestFinished } from 'vitest'
import { createMessagesApi, type MessagesApi, type Options } from './server.ts'

export async function startMessagesApi(options: Options = {}): Promise<MessagesApi> {
  const api = await createMessagesApi(options)
  onTestFinished(api.close)
  return api
}
