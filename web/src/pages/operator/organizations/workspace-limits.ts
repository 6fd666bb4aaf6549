/** Limits of a workspace as form values. */

import type { Workspace, WorkspaceEdit } from '../../../api/operator/organizations'

export const LIMITS = [
  { name: 'requestsPerMinute', label: 'Requests per minute', header: 'Requests/min' },
  { name: 'tokensPerMinute', label: 'Tokens per minute', header: 'Tokens/min' },
  { name: 'monthlyTokens', label: 'Tokens per month', header: 'Tokens/month' },
  { name: 'maxApiKeys', label: 'API keys', header: 'API keys' },
] as const

export type LimitName = (typeof LIMITS)[number]['name']
/** Undefined stands for the configured default; an empty amount for no budget of the operator. */
export type Limits = Record<LimitName, number | undefined> & { monthlyUsd: string; weight: number | undefined }

export const limitsOf = (workspace: Workspace): Limits => ({
  requestsPerMinute: workspace.requestsPerMinute,
  tokensPerMinute: workspace.tokensPerMinute,
  monthlyTokens: workspace.monthlyTokens,
  maxApiKeys: workspace.maxApiKeys,
  monthlyUsd: workspace.operatorMonthlyUsd ?? '',
  weight: workspace.weight,
})

/** Only what was changed, so that settings that others change at the same time stay. */
export function limitsEdit(workspace: Workspace, limits: Limits): WorkspaceEdit {
  const changed = LIMITS.filter(({ name }) => limits[name] !== workspace[name])
  const usd = limits.monthlyUsd.trim()
  return {
    version: workspace.version,
    ...(limits.weight === undefined || limits.weight === workspace.weight ? {} : { weight: limits.weight }),
    ...(usd === (workspace.operatorMonthlyUsd ?? '') ? {} : { monthlyUsd: usd || null }),
    ...Object.fromEntries(changed.map(({ name }) => [name, limits[name] ?? null])),
  }
}
