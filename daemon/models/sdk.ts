/** The model's own package. Only the thread that asks loads it: that takes as long as a hundred answers on the socket. */
import { Stream } from '@anthropic-ai/sdk/streaming'

export { Anthropic, APIError } from '@anthropic-ai/sdk'
export const rawEvents = Stream.rawEvents
