import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Gpu, gpusQuery } from '../../../api/operator/nodes'
import { type Column, DataTable } from '../../../ui/DataTable'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { StatusBadge } from '../../../ui/StatusBadge'
import { Time } from '../../../ui/Time'

const COLUMNS: Column<Gpu>[] = [
  { id: 'gpu', header: 'GPU', cell: ({ id }) => id },
  { id: 'type', header: 'Type', cell: ({ gpuType }) => gpuType },
  { id: 'node', header: 'Node', cell: ({ node }) => node },
  {
    id: 'state',
    header: 'State',
    cell: ({ holder, busy }) => {
      if (busy) return <StatusBadge tone="busy">Busy</StatusBadge>
      return holder ? <StatusBadge tone="ok">Held</StatusBadge> : <StatusBadge tone="idle">Free</StatusBadge>
    },
  },
  {
    id: 'holder',
    header: 'Held by',
    cell: ({ holder }) =>
      holder ? (
        <>
          {holder.endpointName} ({holder.model}), since <Time value={holder.since} />
        </>
      ) : (
        '–'
      ),
  },
]

/** GPUs of all nodes, and what holds them. */
export function Gpus() {
  const gpus = useQuery(gpusQuery)
  return (
    <Panel title="GPUs" description="GPUs of a cluster appear while a replica holds them">
      <Loaded query={gpus} skeleton={<TableSkeleton rows={2} />} errorTitle="The GPUs could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No node reports a GPU.</Text>
          ) : (
            <DataTable
              caption="GPUs of the installation"
              columns={COLUMNS}
              rows={all}
              rowKey={({ node, gpuType, id }) => `${node} ${gpuType} ${id}`}
              minWidth={640}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
