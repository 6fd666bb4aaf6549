import { Button, Group, Modal, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useApiForm } from '../../api/form'
import { createKey, keysQuery, type NewKey } from '../../api/keys'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { NewSecret } from './NewSecret'

type Props = { opened: boolean; workspaceId: string; onClose: () => void }

const MAX_NAME = 100
const DAY_MS = 86_400_000
const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

export function CreateKey({ opened, workspaceId, onClose }: Props) {
  const [isSecretShown, setSecretShown] = useState(false)
  // While the secret is shown, Escape and clicks outside do not close the dialog.
  const close = () => isSecretShown || onClose()
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={isSecretShown ? 'Key created' : 'Create key'}
      withCloseButton={!isSecretShown}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Fields
        workspaceId={workspaceId}
        onSecret={() => setSecretShown(true)}
        onClose={() => {
          setSecretShown(false)
          onClose()
        }}
      />
    </Modal>
  )
}

const EMPTY = {
  name: '',
  days: '',
  requestsPerMinute: undefined as number | undefined,
  tokensPerMinute: undefined as number | undefined,
}

const toKey = ({ name, days, ...limits }: typeof EMPTY): NewKey => ({
  name: name.trim(),
  expiresAt: days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : undefined,
  ...limits,
})

/** A separate component, so that a reopened dialog starts empty. */
function Fields({
  workspaceId,
  onSecret,
  onClose,
}: {
  workspaceId: string
  onSecret: () => void
  onClose: () => void
}) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: EMPTY,
    send: (values) => createKey(workspaceId, toKey(values)),
    onSuccess: onSecret,
    onSettled: () => queries.invalidateQueries(keysQuery(workspaceId)),
  })
  if (sending.data?.key) return <NewSecret secret={sending.data.key} onClose={onClose} />
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Which program uses the key"
          placeholder="chat-backend"
          data-autofocus
          required
          maxLength={MAX_NAME}
          {...form.getInputProps('name')}
        />
        <Select label="Expires" data={LIFETIMES} allowDeselect={false} {...form.getInputProps('days')} />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <OptionalNumber
            label="Requests per minute"
            placeholder="Workspace limit"
            min={1}
            allowDecimal={false}
            thousandSeparator=","
            {...form.getInputProps('requestsPerMinute')}
          />
          <OptionalNumber
            label="Tokens per minute"
            placeholder="Workspace limit"
            min={1}
            allowDecimal={false}
            thousandSeparator=","
            {...form.getInputProps('tokensPerMinute')}
          />
        </SimpleGrid>
        {error ? <ErrorPanel error={error} title="Could not create the key" /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={sending.isPending} disabled={!form.values.name.trim()}>
            Create key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
