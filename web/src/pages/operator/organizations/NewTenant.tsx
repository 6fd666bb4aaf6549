import { Button, Modal, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useApiForm } from '../../../api/form'
import { gpuTypesQuery } from '../../../api/operator/catalogue'
import { refreshOrganizations } from '../../../api/operator/organizations'
import { DialogButtons } from '../../../ui/DialogButtons'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { InvitationLink } from '../../../ui/InvitationLink'
import { OptionalNumber } from '../../../ui/OptionalNumber'
import { BoundFields } from './BoundFields'
import { NO_BOUNDS } from './organization-bounds'
import { type CreatedParts, createTenant, type TenantFields } from './tenant'

const EMPTY: TenantFields = {
  name: '',
  email: '',
  workspace: 'Production',
  ...NO_BOUNDS,
  allotments: {},
}
const COUNT = { min: 0, allowDecimal: false, allowNegative: false, thousandSeparator: ',' } as const

/** Dialog that creates an organization together with what its first administrator needs. */
export function NewTenant({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="New organization" size="lg">
      <Fields onClose={onClose} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const gpuTypes = useQuery(gpuTypesQuery)
  const created = useRef<CreatedParts>({})
  const { form, sending, submit, error } = useApiForm({
    initialValues: EMPTY,
    send: (fields) => createTenant(fields, created.current),
    onSuccess: (invitation) => {
      if (!invitation?.url) onClose()
    },
    onSettled: () => refreshOrganizations(queries),
  })
  if (sending.data?.url)
    return <InvitationLink expiresAt={sending.data.expiresAt} url={sending.data.url} onClose={onClose} />
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <TextInput
          label="Name"
          required
          maxLength={100}
          data-autofocus
          disabled={!!created.current.organizationId}
          {...form.getInputProps('name')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            type="email"
            label="First administrator"
            description="Gets an invitation link; leave it empty for none"
            placeholder="ada@example.com"
            {...form.getInputProps('email')}
          />
          <TextInput
            label="First workspace"
            description="Holds keys, endpoints and usage"
            maxLength={100}
            {...form.getInputProps('workspace')}
          />
          <BoundFields form={form} />
          {(gpuTypes.data ?? []).map(({ gpuType: type }) => (
            <OptionalNumber
              key={type}
              label={`GPUs: ${type}`}
              placeholder="Platform default"
              {...COUNT}
              value={form.values.allotments[type]}
              onChange={(gpus) => form.setFieldValue('allotments', { ...form.values.allotments, [type]: gpus })}
            />
          ))}
        </SimpleGrid>
        {error ? <ErrorPanel error={error} title="The organization could not be completed" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!form.values.name.trim()}>
            Create organization
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}
