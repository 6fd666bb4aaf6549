/** A new organization or workspace, and moving into it. */

import { useMutation } from '@tanstack/react-query'
import { createOrganization } from '../api/organizations'
import { chooseContext, usePlace, useTakeSession } from '../api/session'
import { createWorkspace } from '../api/workspaces'

export function useNewOrganization() {
  const take = useTakeSession()
  return useMutation({
    mutationFn: async (name: string) => {
      const organization = await createOrganization(name)
      return chooseContext({ organizationId: organization.id, workspaceId: null })
    },
    onSuccess: take,
  })
}

export function useNewWorkspace() {
  const take = useTakeSession()
  const { organization } = usePlace()
  return useMutation({
    mutationFn: async (name: string) => {
      const workspace = await createWorkspace(name)
      return chooseContext({ organizationId: organization?.id, workspaceId: workspace.id })
    },
    onSuccess: take,
  })
}
