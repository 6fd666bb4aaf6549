import { Anchor, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { endpointsQuery } from '../../../api/endpoints'
import { ApiError } from '../../../api/errors'
import { useWorkspace } from '../../../api/session'
import { paths } from '../../../paths'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Link } from '../../../ui/Link'
import { AllotmentBar } from './AllotmentBar'
import { exceededOf } from './exceeded'

/** `except`: the endpoint that was to be changed; its flavor is fixed. */
type Props = { error: unknown; title?: string; gpuCount?: number; except?: string; onRetry?: () => void }

/** Error of an endpoint action. An exceeded allotment is explained with its numbers and possible remedies. */
export function EndpointErrorPanel({ error, title, gpuCount, except, onRetry }: Props) {
  const exceeded = error instanceof ApiError ? exceededOf(error) : undefined
  return (
    <ErrorPanel error={error} title={exceeded ? 'Not enough GPUs in the allotment' : title} onRetry={onRetry}>
      {exceeded ? <Explanation exceeded={exceeded} gpuCount={gpuCount} except={except} /> : null}
    </ErrorPanel>
  )
}

type ExplanationProps = { exceeded: NonNullable<ReturnType<typeof exceededOf>>; gpuCount?: number; except?: string }

function Explanation({ exceeded, gpuCount, except }: ExplanationProps) {
  const { gpuType, allotment, committed, projected, need, help } = exceeded
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
        The organization has an allotment of {allotment} {gpuType} GPUs. {committed} are committed; this change would
        make it {projected}, which is {need} over the allotment.
      </Text>
      <div>
        <Text size="sm" fw={550}>
          What you can do
        </Text>
        <List size="sm">
          {fit > 0 ? (
            <List.Item>
              Use fewer replicas: up to {fit} more {fit === 1 ? 'replica fits' : 'replicas fit'}.
            </List.Item>
          ) : null}
          {gpuCount && gpuCount > 1 && !except ? (
            <List.Item>Choose a smaller flavor, with fewer GPUs per replica.</List.Item>
          ) : null}
          {holders.length > 0 ? (
            <List.Item>
              Suspend, delete or scale down another endpoint to free its GPUs:{' '}
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
            <List.Item>Free GPUs committed by endpoints in other workspaces of the organization.</List.Item>
          )}
          <List.Item>Ask the operator to raise the allotment of {gpuType}.</List.Item>
        </List>
        {help ? (
          <Anchor href={help} target="_blank" rel="noreferrer" size="sm" underline="always">
            How the allotment works
          </Anchor>
        ) : null}
      </div>
    </Stack>
  )
}
