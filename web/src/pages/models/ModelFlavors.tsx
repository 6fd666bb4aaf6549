import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Flavor, flavorsQuery, type Model } from '../../api/models'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatPrice } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { StatusBadge } from '../../ui/StatusBadge'

const COLUMNS: Column<Flavor>[] = [
  {
    id: 'flavor',
    header: 'Flavor',
    cell: (flavor) => (
      <>
        {flavor.flavor}
        <Text size="sm" c="dimmed">
          {flavor.gpuCount} × {flavor.gpuType}
        </Text>
      </>
    ),
  },
  { id: 'price', header: 'GPU-hour', align: 'right', cell: (flavor) => formatPrice(flavor.pricePerGpuHour) },
  { id: 'fits', header: 'Allotment', cell: (flavor) => <Fits flavor={flavor} /> },
]

/** Flavors for dedicated endpoints of the model. */
export function ModelFlavors({ model, workspaceId }: { model: Model; workspaceId: string }) {
  const flavors = useQuery(flavorsQuery(workspaceId, model.id))
  return (
    <Panel title="Dedicated endpoints" description="Dedicated GPUs for this model, billed per GPU-hour">
      <Loaded query={flavors} skeleton={<Skeleton h={64} />} errorTitle="The flavors could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">This model is not offered on dedicated GPUs.</Text>
          ) : (
            <DataTable
              caption="Flavors"
              columns={COLUMNS}
              rows={all}
              rowKey={(flavor) => flavor.flavor}
              minWidth={360}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

function Fits({ flavor }: { flavor: Flavor }) {
  if (flavor.fits == null) return <StatusBadge tone="idle">Unknown</StatusBadge>
  if (!flavor.fits) return <StatusBadge tone="warn">Does not fit</StatusBadge>
  const count = flavor.replicasThatFit
  return (
    <StatusBadge tone="ok" title="Replicas for which the GPU allotment has room">
      {count == null ? 'Fits' : `${count} more ${count === 1 ? 'fits' : 'fit'}`}
    </StatusBadge>
  )
}
