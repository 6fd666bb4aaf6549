import { Anchor, SegmentedControl, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type GpuCostsLine, gpuCostsQuery } from '../../api/costs'
import { metricQuery } from '../../api/series'
import { useSessionContext } from '../../api/session'
import { UTILIZATIONS } from '../../charts/metrics'
import { paths } from '../../paths'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatBusy, formatHours, formatMoney, formatShare } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'

type Scope = 'workspace' | 'organization'
type Props = {
  workspace: { id: string; name: string }
  organizationId: string
  span: { from: string; to: string }
  scope: Scope
  /** Only given to users who may see all workspaces. */
  onScope?: (scope: Scope) => void
}

const SCOPES = [
  { value: 'workspace', label: 'This workspace' },
  { value: 'organization', label: 'Organization' },
]

/** GPU-hours, utilization and cost by endpoint. */
export function DedicatedCosts({ workspace, organizationId, span, scope, onScope }: Props) {
  const { session } = useSessionContext()
  const costs = useQuery(gpuCostsQuery(organizationId, span, 'workspace,endpoint,gpuType'))
  const kvCache = useQuery(metricQuery(workspace.id, { metric: 'kv_cache', groupBy: 'endpoint', step: 'day' }, span))
  const kvOf = (line: GpuCostsLine) =>
    line.workspaceId === workspace.id
      ? kvCache.data?.data.find((one) => one.endpoint === line.endpoint)?.total.mean
      : undefined
  const nameOf = (id: string | undefined) => session.workspaces.find((one) => one.id === id)?.name ?? id ?? ''
  return (
    <Panel
      title="Dedicated endpoints"
      description="GPU-hours are counted from when a replica gets its GPUs until it releases them"
      actions={
        onScope ? (
          <SegmentedControl aria-label="Scope" data={SCOPES} value={scope} onChange={(one) => onScope(one as Scope)} />
        ) : null
      }
    >
      <Loaded query={costs} skeleton={<TableSkeleton rows={3} />} errorTitle="The GPU-hours could not be loaded">
        {({ data }) => {
          const shown = data.filter((line) => scope === 'organization' || line.workspaceId === workspace.id)
          if (shown.length === 0) {
            return (
              <Text c="dimmed">
                No endpoint held GPUs in this month.{' '}
                <Anchor component={Link} href={paths.newEndpoint()} underline="always">
                  Create one
                </Anchor>{' '}
                to see its GPU-hours here.
              </Text>
            )
          }
          return (
            <DataTable
              caption="GPU-hours by endpoint"
              columns={columns(workspace.id, scope, nameOf, kvOf)}
              rows={shown}
              rowKey={(line) => `${line.endpointId}/${line.gpuType}`}
              minWidth={640}
            />
          )
        }}
      </Loaded>
    </Panel>
  )
}

function columns(
  workspaceId: string,
  scope: Scope,
  nameOf: (id: string | undefined) => string,
  kvOf: (line: GpuCostsLine) => number | null | undefined,
): Column<GpuCostsLine>[] {
  const workspace: Column<GpuCostsLine> = {
    id: 'workspace',
    header: 'Workspace',
    cell: (line) => nameOf(line.workspaceId),
  }
  return [
    {
      id: 'endpoint',
      header: 'Endpoint',
      cell: (line) =>
        line.workspaceId === workspaceId ? (
          <Anchor component={Link} href={paths.endpoint(line.endpoint ?? '')}>
            {line.endpoint}
          </Anchor>
        ) : (
          line.endpoint
        ),
    },
    ...(scope === 'organization' ? [workspace] : []),
    { id: 'gpu', header: 'GPU type', cell: (line) => line.gpuType },
    { id: 'hours', header: 'GPU-hours', align: 'right', cell: (line) => formatHours(line.gpuHours ?? '0') },
    {
      id: 'busy',
      header: UTILIZATIONS.gpuBusy.name,
      align: 'right',
      cell: formatBusy,
    },
    {
      id: 'kv',
      header: `${UTILIZATIONS.kvCache.name}, mean`,
      align: 'right',
      cell: (line) => {
        const mean = kvOf(line)
        return mean == null ? '–' : formatShare(mean)
      },
    },
    { id: 'cost', header: 'Cost', align: 'right', cell: (line) => formatMoney(line.costUsd) },
  ]
}
