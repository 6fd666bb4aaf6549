/** Where a model comes from and how it runs, in words. */

import type { OperatorModel } from '../../../api/operator/catalogue'

export const isReadOnly = (model: OperatorModel) => model.source === 'file'

export const SOURCE_LABELS: Record<string, string> = { file: 'Configuration file', store: 'Store' }

export function servedBy(model: OperatorModel): string {
  if (model.engine) {
    const { replicas, parallel } = model.engine
    const engines = `${replicas === 1 ? '1 engine' : `${replicas} engines`} here`
    return parallel == null ? engines : `${engines}, ${parallel === 1 ? '1 call' : `${parallel} calls`} at once each`
  }
  if (model.upstreams.length > 0) return model.upstreams.length === 1 ? '1 server' : `${model.upstreams.length} servers`
  return 'Dedicated endpoints only'
}

/** What still uses a model, as a sentence; undefined if nothing does. */
export function usesOf(uses: OperatorModel['usedBy']): string | undefined {
  if (!uses) return undefined
  const counted = (count: number, one: string, many: string) =>
    count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
  const parts = [
    ...(uses.aliases.length > 0 ? [`the catalogue’s aliases ${uses.aliases.join(', ')}`] : []),
    ...counted(uses.workspaceAliases, 'alias of a workspace', 'aliases of workspaces'),
    ...counted(uses.endpoints, 'dedicated endpoint', 'dedicated endpoints'),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}
