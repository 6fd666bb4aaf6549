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

type Props = { record: Endpoint; wish: NewEndpoint; idempotencyKey: string; gpuCount?: number }

/** What the API says it would create, and the button that does. */
export function CreateReview({ record, wish, idempotencyKey, gpuCount }: Props) {
  const router = useRouter()
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: () => createEndpoint(wish, idempotencyKey),
    onSuccess: (endpoint) => {
      void queries.invalidateQueries({ queryKey: ['endpoints'] })
      void queries.invalidateQueries({ queryKey: ['allotments'] })
      notifications.show({ message: `${endpoint.name} is being started`, color: 'teal' })
      router.history.push(paths.endpoint(endpoint.name))
    },
  })
  return (
    <Panel title="Checked: this can be created">
      <ScalingFacts endpoint={record} />
      <Text size="sm" c="dimmed" mt="sm">
        Nothing has been changed yet. The first replica starts as soon as GPUs are free, and GPU-hours count from then.
      </Text>
      {create.error ? <EndpointErrorPanel error={create.error} title="Not created" gpuCount={gpuCount} /> : null}
      <Group mt="md">
        <Button leftSection={<IconRocket size={16} />} loading={create.isPending} onClick={() => create.mutate()}>
          Create endpoint
        </Button>
      </Group>
    </Panel>
  )
}
