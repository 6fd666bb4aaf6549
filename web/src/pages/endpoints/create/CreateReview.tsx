import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconRocket } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { createEndpoint, type Endpoint, type NewEndpoint } from '../../../api/endpoints'
import { paths } from '../../../paths'
import { Panel } from '../../../ui/Panel'
import { EndpointErrorPanel } from '../allotment/EndpointErrorPanel'
import { ScalingFacts } from '../scaling/ScalingFacts'

type Props = { record: Endpoint; request: NewEndpoint; idempotencyKey: string; gpuCount?: number }

/** The endpoint that the dry run returned, and the button that creates it. */
export function CreateReview({ record, request, idempotencyKey, gpuCount }: Props) {
  const router = useRouter()
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: () => createEndpoint(request, idempotencyKey),
    onSuccess: (endpoint) => {
      void queries.invalidateQueries({ queryKey: ['endpoints'] })
      void queries.invalidateQueries({ queryKey: ['allotments'] })
      notifications.show({ message: `Starting ${endpoint.name}`, color: 'teal' })
      router.history.push(paths.endpoint(endpoint.name))
    },
  })
  return (
    <Panel title="Ready to create">
      <ScalingFacts endpoint={record} />
      <Text size="sm" c="dimmed" mt="sm">
        Nothing has been created yet. The first replica starts as soon as GPUs are free; GPU-hours are counted from
        then.
      </Text>
      {create.error ? (
        <EndpointErrorPanel error={create.error} title="Could not create the endpoint" gpuCount={gpuCount} />
      ) : null}
      <Group mt="md">
        <Button leftSection={<IconRocket size={16} />} loading={create.isPending} onClick={() => create.mutate()}>
          Create endpoint
        </Button>
      </Group>
    </Panel>
  )
}
