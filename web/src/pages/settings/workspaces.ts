/** Rules for the list of workspaces. */

import type { Key } from '../../api/keys'
import type { Workspace } from '../../api/workspaces'

/** Number of keys in use, active or disabled, by workspace. */
export function keysByWorkspace(keys: readonly (Pick<Key, 'state'> & { workspaceId: string })[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { state, workspaceId } of keys) {
    if (state === 'active' || state === 'disabled') counts.set(workspaceId, (counts.get(workspaceId) ?? 0) + 1)
  }
  return counts
}

/** Why a workspace cannot be deleted here; undefined if it can. */
export function whyNotDeleted(
  { id }: Pick<Workspace, 'id'>,
  all: readonly unknown[],
  currentId: string | undefined,
): string | undefined {
  if (all.length === 1) return 'An organization keeps its last workspace'
  return id === currentId ? 'Switch to another workspace first' : undefined
}
