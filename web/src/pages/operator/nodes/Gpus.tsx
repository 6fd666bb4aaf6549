import { Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Gpu, gpusQuery } from '../../../api/operator/nodes'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import classes from './Gpus.module.css'
import {
  activityOf,
  type EndpointGpus,
  type GpuGroup,
  groupByEndpoint,
  groupByNode,
  ownerOf,
  shortId,
  summaryOf,
} from './gpu-map'

/** A map of the GPUs of all nodes and of the cluster, and the endpoints that hold them. */
export function Gpus() {
  const gpus = useQuery(gpusQuery)
  return (
    <Panel
      id="gpus"
      title="GPUs"
      description="GPU usage by node: what each GPU or slot runs"
      figure={gpus.data?.length ? summaryOf(gpus.data) : null}
    >
      <Loaded query={gpus} skeleton={<TableSkeleton rows={2} />} errorTitle="The GPUs could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No node reports a GPU.</Text>
          ) : (
            <Stack gap="md">
              {groupByNode(all).map((group) => (
                <NodeGpus key={`${group.node} ${group.gpuType}`} group={group} />
              ))}
              {all.some(({ state }) => state === 'unknown') ? (
                <Text size="sm" c="dimmed">
                  Forebay may not list the Pods of others in this cluster, so their GPUs look like free ones. The
                  optional permission is described in the documentation of Kubernetes.
                </Text>
              ) : null}
              <ByEndpoint endpoints={groupByEndpoint(all)} />
            </Stack>
          )
        }
      </Loaded>
    </Panel>
  )
}

function NodeGpus({ group }: { group: GpuGroup }) {
  const { node, gpuType, isCluster, gpus } = group
  return (
    <section aria-label={`${gpuType} on ${node}`}>
      <Group gap="xs" mb={6} wrap="wrap">
        <Title order={3} fz="sm">
          {gpuType}
        </Title>
        <Text size="sm" c="dimmed">
          {isCluster ? `cluster node ${node}` : node}, {summaryOf(gpus)}
        </Text>
      </Group>
      <ul className={classes.gpus}>
        {gpus.map((gpu) => (
          <GpuTile key={gpu.id} gpu={gpu} />
        ))}
      </ul>
    </section>
  )
}

function GpuTile({ gpu }: { gpu: Gpu }) {
  const note = [shortId(gpu), activityOf(gpu)].filter(Boolean).join(', ')
  return (
    <li className={classes.gpu} data-state={gpu.state} title={gpu.cluster ? undefined : gpu.id}>
      <span className={classes.owner}>{ownerOf(gpu)}</span>
      {note ? <span className={classes.note}>{note}</span> : null}
    </li>
  )
}

const COLUMNS: Column<EndpointGpus>[] = [
  { id: 'endpoint', header: 'Endpoint', cell: ({ name }) => name },
  { id: 'model', header: 'Model', cell: ({ model }) => model },
  { id: 'gpus', header: 'GPUs', align: 'right', cell: ({ count }) => formatCount(count) },
  { id: 'nodes', header: 'Nodes', cell: ({ nodes }) => nodes.join(', ') },
]

function ByEndpoint({ endpoints }: { endpoints: EndpointGpus[] }) {
  if (endpoints.length === 0) return <Text c="dimmed">No endpoint holds a GPU.</Text>
  return (
    <DataTable caption="GPUs by endpoint" columns={COLUMNS} rows={endpoints} rowKey={({ id }) => id} minWidth={480} />
  )
}
