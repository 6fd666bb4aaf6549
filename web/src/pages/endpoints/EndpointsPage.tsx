import { Button } from '@mantine/core'
import { IconFilterOff, IconPlus, IconServer2 } from '@tabler/icons-react'
import { useCallback } from 'react'
import { endpointTableQuery, LIVE_POLL_MS } from '../../api/endpoints'
import { useTable } from '../../api/pages'
import { polled } from '../../api/polling'
import { useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { FilterSelect } from '../../ui/FilterSelect'
import { oneOf, text } from '../../ui/filters'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { SearchField } from '../../ui/SearchField'
import { TableSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { AllotmentPanel } from './allotment/AllotmentPanel'
import classes from './Endpoints.module.css'
import { EndpointTable } from './EndpointTable'
import { endpointStateDisplay, STATES } from './states'

const SORTS = [
  '-createdAt',
  'name',
  '-name',
  'state',
  '-state',
  'model',
  '-model',
  'committedGpus',
  '-committedGpus',
  'lastRequestAt',
  '-lastRequestAt',
] as const
const FILTERS = { q: text(), state: oneOf(['', ...STATES]), sort: oneOf(SORTS) }
const STATE_OPTIONS = STATES.map((value) => ({ value, label: endpointStateDisplay(value).label }))

export function EndpointsPage() {
  const workspace = useWorkspace()
  const [filters, change] = useFilters(FILTERS)
  const { q, state, sort } = filters
  const endpoints = useTable(endpointTableQuery(workspace.id, state, { search: q, sort }), polled(LIVE_POLL_MS))
  const isFiltered = !!q || !!state
  const search = useCallback((q: string) => change({ q }), [change])
  return (
    <>
      <PageHeader
        title="Endpoints"
        description="Models on dedicated GPUs, each with its own Model ID"
        actions={<NewButton />}
      />
      <div className={classes.stack}>
        <AllotmentPanel workspaceId={workspace.id} />
        {(isFiltered || endpoints.data?.rows.length !== 0) && (
          <search className={classes.filters} aria-label="Endpoints">
            <div className={classes.searchField}>
              <SearchField
                label="Search endpoints"
                placeholder="Search by name or model"
                value={filters.q}
                onChange={search}
              />
            </div>
            <FilterSelect
              label="State"
              placeholder="Any state"
              data={STATE_OPTIONS}
              value={filters.state}
              onChange={(state) => change({ state })}
            />
          </search>
        )}
        <Loaded query={endpoints} skeleton={<TableSkeleton />} errorTitle="The endpoints could not be loaded">
          {(table) => {
            if (table.rows.length > 0)
              return (
                <EndpointTable
                  endpoints={table}
                  sort={sort}
                  onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? SORTS[0] })}
                />
              )
            return isFiltered ? <NoMatches onClear={() => change({ q: '', state: '' })} /> : <NoEndpoints />
          }}
        </Loaded>
      </div>
    </>
  )
}

function NewButton() {
  return (
    <Button component={Link} href={paths.newEndpoint()} leftSection={<IconPlus size={16} />}>
      New endpoint
    </Button>
  )
}

function NoEndpoints() {
  return (
    <EmptyState title="No endpoints yet" icon={<IconServer2 size={32} />} actions={<NewButton />}>
      Choose a model and GPUs for it. The endpoint is called as <code>dedicated/&lt;name&gt;</code>, is billed per
      GPU-hour, and is not subject to the workspace's limits and quota.
    </EmptyState>
  )
}

function NoMatches({ onClear }: { onClear: () => void }) {
  return (
    <EmptyState
      title="No endpoint matches"
      icon={<IconFilterOff size={32} />}
      actions={
        <Button variant="default" onClick={onClear}>
          Clear filters
        </Button>
      }
    >
      Try a different search, or clear the filters.
    </EmptyState>
  )
}
