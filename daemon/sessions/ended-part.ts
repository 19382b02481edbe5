/** How much of what is new belongs to turns that are over. Pure. */

type Spoken = { by: string; startsTurn: 0 | 1; ends: string | null }

/** Up to the last end. As in a list of turns, an end is taken back when the agent goes on, and not when a turn begins. */
export function endedPart<M extends Spoken>(messages: readonly M[]): M[] {
  let sure = 0
  let seeming = 0
  for (const [index, { by, startsTurn, ends }] of messages.entries()) {
    if (ends !== null) seeming = index + 1
    else if (startsTurn === 1) sure = seeming
    else if (by === 'agent' || by === 'tool') seeming = sure
  }
  return messages.slice(0, seeming)
}
