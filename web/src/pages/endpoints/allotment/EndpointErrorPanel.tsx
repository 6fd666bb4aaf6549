import { Anchor, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { endpointsQuery } from '../../../api/endpoints'
import { Failure } from '../../../api/errors'
import { useWorkspace } from '../../../api/session'
import { paths } from '../../../paths'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Link } from '../../../ui/Link'
import { AllotmentBar } from './AllotmentBar'
import { exceededOf } from './exceeded'

type Props = { error: unknown; title?: string; gpuCount?: number; except?: string; onRetry?: () => void }

/** A refusal in the words of the API; one for want of GPUs is explained with its numbers and the ways out. */
export function EndpointErrorPanel({ error, title, gpuCount, except, onRetry }: Props) {
  const exceeded = error instanceof Failure ? exceededOf(error) : undefined
  return (
    <ErrorPanel error={error} title={exceeded ? 'The GPU allotment does not allow this' : title} onRetry={onRetry}>
      {exceeded ? <Explanation exceeded={exceeded} gpuCount={gpuCount} except={except} /> : null}
    </ErrorPanel>
  )
}

type Explained = { exceeded: NonNullable<ReturnType<typeof exceededOf>>; gpuCount?: number; except?: string }

function Explanation({ exceeded, gpuCount, except }: Explained) {
  const { gpuType, allotment, committed, projected, need } = exceeded
  const workspace = useWorkspace()
  const endpoints = useQuery(endpointsQuery(workspace.id))
  const holders = (endpoints.data ?? []).filter(
    (one) => one.hardware.gpuType === gpuType && one.committedGpus > 0 && one.name !== except,
  )
  const others = Math.min(committed, allotment)
  const fit = gpuCount ? Math.floor(Math.max(0, allotment - committed) / gpuCount) : 0
  return (
    <Stack gap="sm">
      <AllotmentBar
        projection={{ gpuType, allotment, committed: others, added: projected - others, released: 0, free: 0, need }}
      />
      <Text size="sm">
        The organization may commit {allotment} {gpuType} GPUs. {committed} are committed now; with this change it would
        be {projected}, which is {need} too many.
      </Text>
      <div>
        <Text size="sm" fw={550}>
          Ways out
        </Text>
        <List size="sm">
          {fit > 0 ? (
            <List.Item>
              Ask for fewer: up to {fit} more {fit === 1 ? 'replica fits' : 'replicas fit'}.
            </List.Item>
          ) : null}
          {holders.length > 0 ? (
            <List.Item>
              Suspend, delete or scale down another endpoint, which frees its GPUs at once:{' '}
              {holders.map((one, index) => (
                <span key={one.id}>
                  {index ? ', ' : ''}
                  <Anchor component={Link} href={paths.endpoint(one.name)} size="sm" underline="always">
                    {one.name}
                  </Anchor>{' '}
                  ({one.committedGpus})
                </span>
              ))}
              .
            </List.Item>
          ) : (
            <List.Item>Free GPUs that endpoints of other workspaces of the organization commit.</List.Item>
          )}
          <List.Item>Ask whoever runs this service to raise the allotment of {gpuType}.</List.Item>
        </List>
      </div>
    </Stack>
  )
}
