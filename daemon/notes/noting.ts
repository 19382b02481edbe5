/** Session notes, put together: where they are kept, the job that writes them, and how they are told. */

import type { Forking } from '../agent/forking.ts'
import { endedPart } from '../extraction/ended-part.ts'
import type { Model } from '../models/model.ts'
import type { Health } from '../platform/health.ts'
import { messagesAt } from '../transcripts/digest.ts'
import { createNotesAnswers } from './answers.ts'
import { readCustom } from './custom.ts'
import type { NotesFiles } from './files.ts'
import { createUpdates, type UpdateDeps } from './update.ts'

type Deps = Pick<UpdateDeps, 'said' | 'redact' | 'placeOf' | 'settings' | 'blamesDisk' | 'clock'> & {
  files: NotesFiles
  forking: Pick<Forking, 'tell' | 'run' | 'reachOf'>
  model: Pick<Model, 'waits'>
  modelName: () => string
  health: Health
  /** Where a person's own template and instructions may be. */
  claudeDir: string
}

export function createNoting({ files, forking, model, modelName, health, claudeDir, ...deps }: Deps) {
  const updates = createUpdates({
    ...deps,
    files,
    messagesAt,
    endedPart,
    custom: () => {
      const custom = readCustom(claudeDir)
      if (custom.troubles.length === 0) health.clear('notes')
      else health.raise('notes', `${custom.troubles.join('; ')}: correct it, or move it away`)
      return custom
    },
    asking: { ...forking, model: modelName },
    modelWaits: model.waits,
  })
  return {
    kind: updates.kind,
    ...createNotesAnswers({
      files,
      template: () => readCustom(claudeDir).template,
      runningSince: updates.runningSince,
    }),
  }
}

export type Noting = ReturnType<typeof createNoting>
