import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type UsageLine, usageQuery } from '../../api/costs'
import { paths } from '../../paths'
import type { Column } from '../../ui/DataTable'
import { DataTable } from '../../ui/DataTable'
import { formatCompact, formatCount, formatMoney, nanoUsd } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { sortRows } from '../../ui/sorting'

/** Columns shared by the tables of models and keys. */
export const AMOUNT_COLUMNS: Column<UsageLine>[] = [
  { id: 'requests', header: 'Calls', align: 'right', cell: (line) => formatCount(line.requests) },
  { id: 'prompt', header: 'Tokens in', align: 'right', cell: (line) => formatCompact(line.promptTokens) },
  { id: 'completion', header: 'Tokens out', align: 'right', cell: (line) => formatCompact(line.completionTokens) },
  { id: 'cost', header: 'Cost', align: 'right', cell: (line) => formatMoney(line.costUsd) },
]

export const mostExpensiveFirst = (lines: readonly UsageLine[]) =>
  sortRows(lines, (line) => nanoUsd(line.costUsd), true)

const COLUMNS: Column<UsageLine>[] = [
  {
    id: 'model',
    header: 'Model',
    cell: ({ model = '' }) => (
      <Anchor component={Link} href={hrefOf(model)} style={{ overflowWrap: 'anywhere' }}>
        {model}
      </Anchor>
    ),
  },
  ...AMOUNT_COLUMNS,
]

const DEDICATED = 'dedicated/'
const hrefOf = (model: string) =>
  model.startsWith(DEDICATED) ? paths.endpoint(model.slice(DEDICATED.length)) : paths.model(model)

export function ByModel({ workspaceId, span }: { workspaceId: string; span: { from: string; to: string } }) {
  const usage = useQuery(usageQuery(workspaceId, span, 'model'))
  return (
    <Panel title="By model" description="Dedicated endpoints are billed for GPU time, not per call">
      <Loaded query={usage} skeleton={<TableSkeleton rows={3} />} errorTitle="The usage could not be loaded">
        {({ data }) =>
          data.length === 0 ? (
            <Text c="dimmed">No models were called in this month.</Text>
          ) : (
            <DataTable
              caption="Cost by model"
              columns={COLUMNS}
              rows={mostExpensiveFirst(data)}
              rowKey={(line) => line.model ?? ''}
              minWidth={480}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
