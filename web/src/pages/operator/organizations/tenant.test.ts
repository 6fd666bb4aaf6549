import { expect, it, vi } from 'vitest'
import { NO_BOUNDS } from './organization-bounds'
import { createTenant, type TenantFields } from './tenant'

const FIELDS: TenantFields = {
  name: ' Acme ',
  email: 'ada@example.com',
  workspace: 'Production',
  ...NO_BOUNDS,
  maxWorkspaces: 3,
  monthlyUsd: ' 250 ',
  allotments: { h100: 4, a100: undefined },
}

const fakeApi = () =>
  ({
    createOrganization: vi.fn(async () => ({ id: 'org_1' })),
    boundOrganization: vi.fn(),
    setAllotment: vi.fn(),
    createWorkspaceOf: vi.fn(),
    inviteTo: vi.fn(async () => ({ url: 'https://console/invitation#token' })),
  }) as unknown as NonNullable<Parameters<typeof createTenant>[2]>

it('creates the organization, its limits, GPUs and workspace, and the invitation of its administrator', async () => {
  const api = fakeApi()
  expect(await createTenant(FIELDS, {}, api)).toMatchObject({ url: 'https://console/invitation#token' })
  expect(api.createOrganization).toHaveBeenCalledWith('Acme')
  expect(api.boundOrganization).toHaveBeenCalledWith('org_1', { maxWorkspaces: 3, monthlyUsd: '250' })
  expect(vi.mocked(api.setAllotment).mock.calls).toEqual([['org_1', 'h100', 4]])
  expect(api.createWorkspaceOf).toHaveBeenCalledWith('org_1', 'Production')
  expect(api.inviteTo).toHaveBeenCalledWith('org_1', { email: 'ada@example.com', role: 'admin' })
})

it('goes on where an attempt failed, and leaves out what is empty', async () => {
  const api = fakeApi()
  vi.mocked(api.inviteTo).mockRejectedValueOnce(new Error('the address is invalid'))
  const created = {}
  await expect(createTenant(FIELDS, created, api)).rejects.toThrow('invalid')
  await createTenant({ ...FIELDS, email: '' }, created, api)
  expect(api.createOrganization).toHaveBeenCalledTimes(1)
  expect(api.createWorkspaceOf).toHaveBeenCalledTimes(1)
  expect(api.inviteTo).toHaveBeenCalledTimes(1)
})
