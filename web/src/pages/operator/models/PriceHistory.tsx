import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../../api/client'
import { pricesQuery } from '../../../api/operator/catalogue'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatPrice } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'

type PriceVersion = Schemas['PriceVersion']

const COLUMNS: Column<PriceVersion>[] = [
  { id: 'from', header: 'From', cell: (price) => <Time value={price.validFrom} /> },
  { id: 'input', header: 'Input', align: 'right', cell: (price) => formatPrice(price.inputPer1m) },
  { id: 'cached', header: 'Cached', align: 'right', cell: (price) => formatPrice(price.cachedInputPer1m) },
  { id: 'output', header: 'Output', align: 'right', cell: (price) => formatPrice(price.outputPer1m) },
]

/** Prices of the model, newest first. */
export function PriceHistory({ modelId }: { modelId: string }) {
  const prices = useQuery(pricesQuery(modelId))
  return (
    <Panel title="Price history" description="USD per million tokens">
      <Loaded query={prices} skeleton={<TableSkeleton rows={2} />} errorTitle="The prices could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No prices yet.</Text>
          ) : (
            <DataTable
              caption="Prices of the model"
              columns={COLUMNS}
              rows={[...all].reverse()}
              rowKey={(price) => price.validFrom}
              minWidth={360}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
