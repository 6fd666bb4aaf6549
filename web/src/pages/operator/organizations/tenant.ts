/** A new tenant: an organization with all that its first administrator needs. */

import { boundOrganization, createWorkspaceOf, inviteTo, setAllotment } from '../../../api/operator/organizations'
import { createOrganization } from '../../../api/organizations'
import { type Bounds, boundsEdit, NO_BOUNDS } from './organization-bounds'

export type TenantFields = Bounds & {
  name: string
  /** Email of the first administrator; empty for none. */
  email: string
  /** Empty for none. */
  workspace: string
  /** GPUs by type; undefined for the default. */
  allotments: Record<string, number | undefined>
}

/** What an attempt has created, so that the next one does not create it again. */
export type CreatedParts = { organizationId?: string; hasWorkspace?: boolean }

const API = { createOrganization, boundOrganization, setAllotment, createWorkspaceOf, inviteTo }

/** Returns the invitation, if one was asked for. */
export async function createTenant(fields: TenantFields, created: CreatedParts, api = API) {
  const { name, email, workspace, allotments, ...bounds } = fields
  created.organizationId ??= (await api.createOrganization(name.trim())).id
  const id = created.organizationId
  const bounded = boundsEdit(NO_BOUNDS, bounds)
  if (Object.keys(bounded).length > 0) await api.boundOrganization(id, bounded)
  for (const [gpuType, gpus] of Object.entries(allotments)) {
    if (gpus !== undefined) await api.setAllotment(id, gpuType, gpus)
  }
  if (workspace.trim() && !created.hasWorkspace) {
    await api.createWorkspaceOf(id, workspace.trim())
    created.hasWorkspace = true
  }
  return email.trim() ? api.inviteTo(id, { email: email.trim(), role: 'admin' }) : undefined
}
