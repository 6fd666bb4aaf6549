import { Button, Group, Modal, Select, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
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

type Fields = { name: string; days: string; requests: number | undefined; tokens: number | undefined }

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
  const [fields, setFields] = useState<Fields>({ name: '', days: '', requests: undefined, tokens: undefined })
  const set = (change: Partial<Fields>) => setFields({ ...fields, ...change })
  const create = useMutation({
    mutationFn: (body: NewKey) => createKey(workspaceId, body),
    onSuccess: onSecret,
    onSettled: () => queries.invalidateQueries(keysQuery(workspaceId)),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    create.mutate({
      name: fields.name.trim(),
      expiresAt: fields.days ? new Date(Date.now() + Number(fields.days) * DAY_MS).toISOString() : undefined,
      requestsPerMinute: fields.requests,
      tokensPerMinute: fields.tokens,
    })
  }
  if (create.data?.key) return <NewSecret secret={create.data.key} onClose={onClose} />
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
          value={fields.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Select
          label="Expires"
          data={LIFETIMES}
          value={fields.days}
          allowDeselect={false}
          onChange={(days) => set({ days: days ?? '' })}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <OptionalNumber
            label="Requests per minute"
            placeholder="Workspace limit"
            min={1}
            allowDecimal={false}
            thousandSeparator=","
            value={fields.requests}
            onChange={(requests) => set({ requests })}
          />
          <OptionalNumber
            label="Tokens per minute"
            placeholder="Workspace limit"
            min={1}
            allowDecimal={false}
            thousandSeparator=","
            value={fields.tokens}
            onChange={(tokens) => set({ tokens })}
          />
        </SimpleGrid>
        {create.error ? <ErrorPanel error={create.error} title="Could not create the key" /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending} disabled={!fields.name.trim()}>
            Create key
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
