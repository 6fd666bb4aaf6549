import { Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ErrorCount, platformErrorsQuery } from '../../../api/operator/nodes'
import { type Column, DataTable } from '../../../ui/DataTable'
import { formatCount } from '../../../ui/format'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { TableSkeleton } from '../../../ui/Skeletons'
import { Time } from '../../../ui/Time'

const COLUMNS: Column<ErrorCount>[] = [
  { id: 'code', header: 'Code', cell: ({ code }) => <Code>{code}</Code> },
  { id: 'model', header: 'Model', cell: ({ model }) => model || 'unknown model' },
  { id: 'count', header: 'Calls', align: 'right', cell: ({ count }) => formatCount(count) },
  { id: 'last', header: 'Last', cell: ({ lastAt }) => <Time value={lastAt} /> },
]

/** Failed calls of all workspaces in the last day. */
export function PlatformErrors() {
  const errors = useQuery(platformErrorsQuery)
  return (
    <Panel id="errors" title="Recent errors" description="Failed calls of all workspaces in the last 24 hours">
      <Loaded query={errors} skeleton={<TableSkeleton rows={2} />} errorTitle="The errors could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No calls failed.</Text>
          ) : (
            <DataTable
              caption="Errors by cause"
              columns={COLUMNS}
              rows={all}
              rowKey={({ code, model }) => `${code} ${model}`}
              minWidth={420}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
