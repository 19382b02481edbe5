/** What a harness is told of the place where a conversation was compacted. Pure. */
import type { Boundary } from '../../schema/context.ts'
import { type Block, blocksOf, type Message, recordOf } from './message.ts'
import { type Parts, summaryId } from './result.ts'
import type { Trigger } from './thresholds.ts'

export function boundaryOf(
  parts: Parts,
  { trigger, tokensBefore }: { trigger: Trigger; tokensBefore: number },
): Boundary {
  const { before, between, after } = parts
  const all = [...before, ...between, ...after]
  const nameOf = (at: number) => all[at]?.id ?? `#${at}`
  const last = before.length + between.length - 1
  const kept = after.length > 0 ? { from: last + 1, to: all.length - 1 } : { from: 0, to: before.length - 1 }
  const hasIds = all.some(({ id }) => id !== undefined)
  return {
    type: 'compact_boundary',
    trigger,
    tokensBefore,
    lastMessageId: last < 0 ? null : nameOf(last),
    discoveredTools: discovered(all),
    ...(kept.to >= kept.from && {
      preserved: { head: nameOf(kept.from), anchor: hasIds ? summaryId(between) : 'summary', tail: nameOf(kept.to) },
    }),
  }
}

/** Tools that were found by searching for them: a harness has to name them again. */
function discovered(messages: readonly Message[]): string[] {
  const names = messages.flatMap(({ content }) =>
    blocksOf(content)
      .flatMap(referencesIn)
      .flatMap((part) => {
        const { type, tool_name } = recordOf(part)
        return type === 'tool_reference' && typeof tool_name === 'string' ? [tool_name] : []
      }),
  )
  return [...new Set(names)].sort()
}

/** A harness searches with a tool of its own, or has the server search. */
function referencesIn({ type, content }: Block): unknown[] {
  const found = type === 'tool_search_tool_result' ? recordOf(content).tool_references : content
  return /tool_result$/.test(type) && Array.isArray(found) ? found : []
}
