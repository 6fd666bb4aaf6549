/** Rules for the list of workspaces. */

import type { Workspace } from '../../api/workspaces'

/** Why a workspace cannot be deleted here; undefined if it can. */
export function whyNotDeleted(
  { id }: Pick<Workspace, 'id'>,
  all: readonly unknown[],
  currentId: string | undefined,
): string | undefined {
  if (all.length === 1) return 'An organization keeps its last workspace'
  return id === currentId ? 'Switch to another workspace first' : undefined
}
