/** Creating an organization or workspace, and switching to it. */

import { useMutation } from '@tanstack/react-query'
import { createOrganization } from '../api/organizations'
import { chooseContext, useReplaceSession, useSessionContext } from '../api/session'
import { createWorkspace } from '../api/workspaces'

export function useNewOrganization() {
  const replaceSession = useReplaceSession()
  return useMutation({
    mutationFn: async (name: string) => {
      const organization = await createOrganization(name)
      return chooseContext({ organizationId: organization.id, workspaceId: null })
    },
    onSuccess: replaceSession,
  })
}

export function useNewWorkspace() {
  const replaceSession = useReplaceSession()
  const { organization } = useSessionContext()
  return useMutation({
    mutationFn: async (name: string) => {
      const workspace = await createWorkspace(name)
      return chooseContext({ organizationId: organization?.id, workspaceId: workspace.id })
    },
    onSuccess: replaceSession,
  })
}
