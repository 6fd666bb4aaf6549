import { Anchor, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { allotmentsQuery, type Endpoint, endpointUsageQuery } from '../../../api/endpoints'
import { modelsQuery } from '../../../api/models'
import { UTILIZATIONS } from '../../../charts/metrics'
import { paths } from '../../../paths'
import { firstCall } from '../../../snippets/snippets'
import { CodeBlock } from '../../../ui/CodeBlock'
import { formatBusy, formatHours, formatMoney, sentence } from '../../../ui/format'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { Stat, Stats } from '../../../ui/Stat'
import { Time } from '../../../ui/Time'
import { AllotmentBar } from '../allotment/AllotmentBar'
import { project } from '../allotment/estimate'
import { EndpointStateBadge } from '../EndpointStateBadge'
import classes from '../Endpoints.module.css'
import { ScalingFacts } from '../scaling/ScalingFacts'
import { endpointStateDisplay } from '../states'

export function EndpointOverview({ endpoint }: { endpoint: Endpoint }) {
  const models = useQuery(modelsQuery(endpoint.workspaceId))
  const model = models.data?.find((one) => one.id === endpoint.model)
  return (
    <div className={classes.columns}>
      <div className={classes.stack}>
        <StatePanel endpoint={endpoint} />
        <CostPanel endpoint={endpoint} />
        <Panel title="Call this endpoint" description="With an API key of this workspace">
          <CodeBlock
            label={`Call ${endpoint.modelId} with curl`}
            code={firstCall(endpoint.modelId, model?.modality ?? 'chat')}
          />
        </Panel>
      </div>
      <div className={classes.stack}>
        <Panel title="Configuration">
          <ScalingFacts endpoint={endpoint} />
        </Panel>
        <CommitmentPanel endpoint={endpoint} />
      </div>
    </div>
  )
}

function StatePanel({ endpoint }: { endpoint: Endpoint }) {
  const { desired, pending, starting, ready, draining } = endpoint.status
  return (
    <Panel title="State">
      <Stack gap="md">
        <div>
          <EndpointStateBadge endpoint={endpoint} />
          <Text mt={6}>
            {endpoint.stateMessage || sentence(endpointStateDisplay(endpoint.state).meaning ?? endpoint.state)}
          </Text>
          <Text size="sm" c="dimmed">
            Since <Time value={endpoint.stateSince} />. Last call: <Time value={endpoint.lastRequestAt} />.
          </Text>
        </div>
        <div className={classes.stages}>
          <Stats>
            <Stat label="Desired" value={desired} note="replicas" />
            <Stat label="Pending" value={pending} note="waiting for GPUs" />
            <Stat label="Starting" value={starting} note="loading the model" />
            <Stat label="Ready" value={ready} note="serving calls" />
            <Stat label="Draining" value={draining} note="finishing calls" />
          </Stats>
        </div>
      </Stack>
    </Panel>
  )
}

function CostPanel({ endpoint }: { endpoint: Endpoint }) {
  const usage = useQuery(endpointUsageQuery(endpoint.workspaceId, endpoint.name))
  return (
    <Panel
      title="This month"
      description="You pay for GPU time, not per call."
      actions={
        <Anchor component={Link} href={paths.costs()} size="sm">
          All costs
        </Anchor>
      }
    >
      <Loaded query={usage} skeleton={<Skeleton h={56} />} errorTitle="The cost could not be loaded">
        {({ costUsd, gpuHours, ...busy }) => (
          <Stats>
            <Stat label="Cost so far" value={formatMoney(costUsd)} />
            <Stat label="GPU-hours held" value={formatHours(gpuHours)} />
            <Stat label={UTILIZATIONS.gpuBusy.name} value={formatBusy(busy)} note="of the time held" />
          </Stats>
        )}
      </Loaded>
    </Panel>
  )
}

function CommitmentPanel({ endpoint }: { endpoint: Endpoint }) {
  const allotments = useQuery(allotmentsQuery(endpoint.workspaceId))
  const line = allotments.data?.find((one) => one.gpuType === endpoint.hardware.gpuType)
  if (!line) return null
  return (
    <Panel title="GPU allotment" description="This endpoint's share of the organization's GPU allotment">
      <AllotmentBar projection={project(line, endpoint.committedGpus, endpoint.committedGpus)} />
    </Panel>
  )
}
