import { Anchor, Button, Group, Modal, Select, Stack, TagsInput, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useRef } from 'react'
import { batchesOf, createBatch } from '../../api/batches'
import { ApiError } from '../../api/errors'
import { inputFilesQuery } from '../../api/files'
import { useApiForm } from '../../api/form'
import { paths } from '../../paths'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatBytes, formatMinute } from '../../ui/format'
import { Link } from '../../ui/Link'
import { newId } from '../../ui/new-id'
import { toPairs } from '../../ui/pairs'
import { type BatchEndpoint, ENDPOINTS, endpointOf } from './lines'
import { isoOf } from './progress'
import { UploadButton } from './UploadButton'

const MAX_METADATA = 16
/** Enough for the first line of a file; images in it are the exception. */
const PEEKED_BYTES = 1024 * 1024

type Props = { opened: boolean; workspaceId: string; fileId?: string; onClose: () => void }

export function NewBatch({ opened, ...rest }: Props) {
  return (
    <Modal opened={opened} onClose={rest.onClose} title="New batch">
      <Fields {...rest} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ workspaceId, fileId, onClose }: Omit<Props, 'opened'>) {
  const queries = useQueryClient()
  const router = useRouter()
  const files = useQuery(inputFilesQuery(workspaceId))
  // A repeated attempt makes no second batch.
  const idempotencyKey = useRef(newId())
  const { form, sending, submit, error } = useApiForm({
    initialValues: {
      input_file_id: fileId ?? (null as string | null),
      endpoint: ENDPOINTS[0].value as BatchEndpoint,
      metadata: [] as string[],
    },
    send: ({ input_file_id, endpoint, metadata }) =>
      createBatch(
        {
          input_file_id: input_file_id ?? '',
          endpoint,
          completion_window: '24h',
          ...(metadata.length ? { metadata: toPairs(metadata) } : {}),
        },
        idempotencyKey.current,
      ),
    onSuccess: ({ id }) => {
      notifications.show({ title: 'Batch created', message: 'Its lines are checked before the first one runs.' })
      onClose()
      router.history.push(paths.batch(id))
    },
    onSettled: (_, failed) => {
      // After a lost connection the batch may have been created.
      if (failed instanceof ApiError && failed.kind === 'api') idempotencyKey.current = newId()
      return queries.invalidateQueries(batchesOf(workspaceId))
    },
  })
  const options = (files.data ?? []).map(({ id, filename, bytes, created_at }) => ({
    value: id,
    label: `${filename}, ${formatBytes(bytes)}, ${formatMinute(isoOf(created_at) ?? '')}`,
  }))
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <Select
            label="File"
            placeholder={files.isSuccess && options.length === 0 ? 'No files yet' : 'Choose a file'}
            style={{ flex: 1 }}
            searchable
            nothingFoundMessage="No file matches"
            data={options}
            {...form.getInputProps('input_file_id')}
          />
          <UploadButton
            workspaceId={workspaceId}
            variant="default"
            onUploaded={async ({ id }, local) => {
              form.setFieldValue('input_file_id', id)
              const endpoint = endpointOf(await local.slice(0, PEEKED_BYTES).text())
              if (endpoint) form.setFieldValue('endpoint', endpoint)
            }}
          />
        </Group>
        <Text size="sm" c="dimmed">
          One call per line, as JSON. The{' '}
          <Anchor component={Link} href={paths.help('api/batches.md')} inherit underline="always">
            guide
          </Anchor>{' '}
          has an example.
        </Text>
        <Select
          label="API"
          description="All lines call this route"
          data={[...ENDPOINTS]}
          allowDeselect={false}
          {...form.getInputProps('endpoint')}
        />
        <TagsInput
          label="Metadata"
          description="For your own use"
          placeholder={form.values.metadata.length ? undefined : 'run=nightly'}
          maxTags={MAX_METADATA}
          {...form.getInputProps('metadata')}
        />
        <Text size="sm" c="dimmed">
          Lines run in the room that other calls leave, for 24 hours at most, at the price for batches of their model.
        </Text>
        {error ? <ErrorPanel error={error} title="Could not create the batch" /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" loading={sending.isPending} disabled={!form.values.input_file_id}>
            Create batch
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}
