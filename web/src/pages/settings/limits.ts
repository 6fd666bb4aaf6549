/** Settings of a workspace as form values, and the three-way merge of conflicting edits. */

import { ownBudget } from '../../api/monthly-budgets'
import type { Workspace, WorkspaceEdit } from '../../api/workspaces'

export const FIELDS = [
  { name: 'name', label: 'Name', unit: '' },
  { name: 'requestsPerMinute', label: 'Requests per minute', unit: 'shared by all keys and members' },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unit: 'prompt and completion together' },
  { name: 'monthlyTokens', label: 'Tokens per month', unit: 'per calendar month (UTC)' },
  { name: 'maxApiKeys', label: 'API keys', unit: 'including disabled keys' },
  { name: 'monthlyUsd', label: 'USD per month', unit: 'serverless calls and GPU-hours' },
  { name: 'onBudget', label: 'When the budget is spent', unit: '' },
] as const

export type FieldName = (typeof FIELDS)[number]['name']
/** Null resets to the operator's value, or the configured default; a budget of null is removed. */
export type Value = string | number | null
export type Settings = Record<FieldName, Value>

/** The budget is the operator's for the operator, whose changes are changes of that. */
export const settingsOf = (workspace: Workspace, isOperator: boolean): Settings => ({
  name: workspace.name,
  requestsPerMinute: workspace.requestsPerMinute,
  tokensPerMinute: workspace.tokensPerMinute,
  monthlyTokens: workspace.monthlyTokens,
  maxApiKeys: workspace.maxApiKeys,
  monthlyUsd: isOperator ? (workspace.operatorMonthlyUsd ?? null) : ownBudget(workspace),
  onBudget: workspace.onBudget,
})

const changed = (base: Settings, mine: Settings) =>
  FIELDS.map(({ name }) => name).filter((name) => base[name] !== mine[name])

export const isChanged = (base: Settings, mine: Settings) => changed(base, mine).length > 0

/** Sends only changed values, so that concurrent changes to other settings are kept. */
export function editOf(base: Settings, mine: Settings, version: number): WorkspaceEdit {
  const members = changed(base, mine).map((name) => [name, mine[name]])
  return { ...Object.fromEntries(members), version }
}

export type ConflictLine = { name: FieldName; label: string; base: Value; theirs: Value; mine: Value; isClash: boolean }

/** Differences between the original record, the current one, and the edit. */
export function compareThree(base: Settings, theirs: Settings, mine: Settings): ConflictLine[] {
  return FIELDS.map(({ name, label }) => {
    const [was, now, edited] = [base[name], theirs[name], mine[name]]
    return {
      name,
      label,
      base: was,
      theirs: now,
      mine: edited,
      isClash: was !== now && was !== edited && now !== edited,
    }
  }).filter((line) => line.base !== line.theirs || line.base !== line.mine)
}

export type Side = 'theirs' | 'mine'

/** Three-way merge: takes what only one side changed; `choices` decides for settings changed by both. */
export function merge(
  base: Settings,
  theirs: Settings,
  mine: Settings,
  choices: Partial<Record<FieldName, Side>>,
): Settings {
  const merged = { ...theirs }
  for (const line of compareThree(base, theirs, mine)) {
    const isMine = line.isClash ? choices[line.name] === 'mine' : line.base !== line.mine
    if (isMine) merged[line.name] = line.mine
  }
  return merged
}

/** Conflicts without a choice. */
export const undecided = (lines: readonly ConflictLine[], choices: Partial<Record<FieldName, Side>>) =>
  lines.filter((line) => line.isClash && !choices[line.name])
