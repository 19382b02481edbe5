/** Memories: index, list, one, put, forget, remember. */
import type { Caller } from '../../../schema/caller.ts'
import type {
  Forgotten,
  Memory,
  MemoryIndex,
  MemoryList,
  MemoryType,
  Remembered,
  Written,
} from '../../../schema/memory.ts'
import type { Handlers } from '../server.ts'

export type Reading = { get(cwd: string, caller: Caller, file: string, at: number | undefined): Memory }
export type Writing = {
  put(
    cwd: string,
    caller: Caller,
    write: { file: string; content: string; expect: string | null | undefined },
    reason: string,
  ): Promise<Written>
  forget(
    cwd: string,
    caller: Caller,
    file: string,
    how: { reject: boolean; purge: boolean; ifHash: string | undefined },
  ): Promise<Forgotten>
}

type Deps = {
  reading: Reading & {
    index(cwd: string, caller: Caller): MemoryIndex
    list(
      cwd: string,
      caller: Caller,
      filter: { type: MemoryType | undefined; q: string | undefined },
    ): Promise<MemoryList>
  }
  writing: Writing & {
    remember(cwd: string, caller: Caller, text: string, type: MemoryType | undefined): Promise<Remembered>
  }
}

type Names = 'memoryIndex' | 'memories' | 'memory' | 'putMemory' | 'forget' | 'remember'

export function memoryRoutes({ reading, writing }: Deps): Pick<Handlers, Names> {
  return {
    memoryIndex: ({ query, caller }) => reading.index(query.cwd, caller),
    memories: ({ query, caller }) => reading.list(query.cwd, caller, { type: query.type, q: query.q }),
    memory: ({ query, params, caller }) =>
      reading.get(query.cwd, caller, params.file, query.at === undefined ? undefined : Date.parse(query.at)),
    putMemory: ({ query, params, body, caller }) =>
      writing.put(
        query.cwd,
        caller,
        { file: params.file, content: body.content, expect: body.ifHash },
        body.reason ?? 'written',
      ),
    forget: ({ query, params, caller }) =>
      writing.forget(query.cwd, caller, params.file, {
        reject: query.reject ?? false,
        purge: query.purge ?? false,
        ifHash: query.ifHash,
      }),
    remember: ({ body, caller }) => writing.remember(body.cwd, caller, body.text, body.type),
  }
}
