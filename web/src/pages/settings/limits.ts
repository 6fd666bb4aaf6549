/** The settings of a workspace as a form has them, and what becomes of an edit when somebody else was faster. */

import type { Workspace, WorkspaceEdit } from '../../api/workspaces'

export const FIELDS = [
  { name: 'name', label: 'Name', unit: '' },
  { name: 'requestsPerMinute', label: 'Requests per minute', unit: 'shared by all keys and people' },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unit: 'prompt and answer together' },
  { name: 'monthlyTokens', label: 'Tokens per month', unit: 'in a calendar month in UTC' },
  { name: 'maxApiKeys', label: 'API keys', unit: 'active and disabled ones count' },
] as const

export type FieldName = (typeof FIELDS)[number]['name']
/** Null goes back to the value that the operator set, or the configured default. */
export type Value = string | number | null
export type Settings = Record<FieldName, Value>

export const settingsOf = (workspace: Workspace): Settings => ({
  name: workspace.name,
  requestsPerMinute: workspace.requestsPerMinute,
  tokensPerMinute: workspace.tokensPerMinute,
  monthlyTokens: workspace.monthlyTokens,
  maxApiKeys: workspace.maxApiKeys,
})

const changed = (base: Settings, mine: Settings) =>
  FIELDS.map(({ name }) => name).filter((name) => base[name] !== mine[name])

export const isChanged = (base: Settings, mine: Settings) => changed(base, mine).length > 0

/** Only what was changed is sent: what is left alone follows whoever changes it. */
export function editOf(base: Settings, mine: Settings, version: number): WorkspaceEdit {
  const members = changed(base, mine).map((name) => [name, mine[name]])
  return { ...Object.fromEntries(members), version }
}

export type Line = { name: FieldName; label: string; base: Value; theirs: Value; mine: Value; isClash: boolean }

/** What differs between the record that was read, the one that is there now, and the edit. */
export function compareThree(base: Settings, theirs: Settings, mine: Settings): Line[] {
  return FIELDS.map(({ name, label }) => {
    const [was, now, wish] = [base[name], theirs[name], mine[name]]
    return { name, label, base: was, theirs: now, mine: wish, isClash: was !== now && was !== wish && now !== wish }
  }).filter((line) => line.base !== line.theirs || line.base !== line.mine)
}

export type Side = 'theirs' | 'mine'

/** What each side changed alone is taken; where both did, the choice decides. */
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

/** The clashes that nobody has decided yet. */
export const undecided = (lines: readonly Line[], choices: Partial<Record<FieldName, Side>>) =>
  lines.filter((line) => line.isClash && !choices[line.name])
