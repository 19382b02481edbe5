/** Names of the store's files in the state folder. */
import { join } from 'node:path'

export type Layout = { history: string; index: string; backups: string; corrupt: string }

export function storeLayout(stateDir: string): Layout {
  return {
    history: join(stateDir, 'history.db'),
    index: join(stateDir, 'index.db'),
    backups: join(stateDir, 'backups'),
    corrupt: join(stateDir, 'corrupt'),
  }
}
