import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type UsageLine, usageQuery } from '../../api/costs'
import { paths } from '../../paths'
import type { Column } from '../../ui/DataTable'
import { Link } from '../../ui/Link'
import { Panel } from '../../ui/Panel'
import { UsageTable } from './UsageTable'

/** Models and endpoints, as links. */
export const MODEL_COLUMN: Column<UsageLine> = {
  id: 'model',
  header: 'Model',
  cell: ({ model = '' }) => (
    <Anchor component={Link} href={hrefOf(model)} style={{ overflowWrap: 'anywhere' }}>
      {model}
    </Anchor>
  ),
}

const DEDICATED = 'dedicated/'
const hrefOf = (model: string) =>
  model.startsWith(DEDICATED) ? paths.endpoint(model.slice(DEDICATED.length)) : paths.model(model)

export function ByModel({ workspaceId, span }: { workspaceId: string; span: { from: string; to: string } }) {
  const usage = useQuery(usageQuery(workspaceId, span, 'model'))
  return (
    <Panel title="By model" description="Dedicated endpoints are billed for GPU time, not per call">
      <UsageTable
        usage={usage}
        caption="Cost by model"
        group={MODEL_COLUMN}
        rowKey={(line) => line.model ?? ''}
        empty="No models were called in this month."
      />
    </Panel>
  )
}
