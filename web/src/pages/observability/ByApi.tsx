import { Anchor } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { usageOfWindowQuery } from '../../api/costs'
import type { Window } from '../../api/series'
import { isSurface, type SurfaceName, surfaceLabel } from '../../api/surfaces'
import classes from '../../charts/charts.module.css'
import { type Column, DataTable } from '../../ui/DataTable'
import { formatCompact, formatCount } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { type ApiUsage, byApi } from './by-api'
import type { CallFilter } from './targets'

type Props = { workspaceId: string; window: Window; only: CallFilter; onOpen: (surface: SurfaceName) => void }

/** Served calls of the time range by API; each leads to its requests. */
export function ByApi({ workspaceId, window, only, onOpen }: Props) {
  const usage = useQuery(usageOfWindowQuery(workspaceId, window, 'model,key,surface'))
  return (
    <Panel
      title="Calls by API"
      description="Served calls; those that were rejected before a model was called are not counted"
    >
      <Loaded query={usage} skeleton={<TableSkeleton rows={2} />} errorTitle="The usage could not be loaded">
        {({ data }) => {
          const rows = byApi(data, only)
          if (rows.length === 0) return <p className={classes.empty}>No served calls in this time range</p>
          return (
            <DataTable
              caption="Calls by API in this time range"
              columns={columns(onOpen)}
              rows={rows}
              rowKey={(row) => row.surface}
              minWidth={360}
            />
          )
        }}
      </Loaded>
    </Panel>
  )
}

const columns = (onOpen: (surface: SurfaceName) => void): Column<ApiUsage>[] => [
  {
    id: 'surface',
    header: 'API',
    cell: ({ surface }) =>
      isSurface(surface) ? (
        <Anchor component="button" type="button" onClick={() => onOpen(surface)}>
          {surfaceLabel(surface)}
        </Anchor>
      ) : (
        surfaceLabel(surface)
      ),
  },
  { id: 'requests', header: 'Calls', align: 'right', cell: (row) => formatCount(row.requests) },
  { id: 'prompt', header: 'Tokens in', align: 'right', cell: (row) => formatCompact(row.promptTokens) },
  { id: 'completion', header: 'Tokens out', align: 'right', cell: (row) => formatCompact(row.completionTokens) },
]
