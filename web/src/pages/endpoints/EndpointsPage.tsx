import { Button } from '@mantine/core'
import { IconFilterOff, IconPlus, IconServer2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { endpointsQuery } from '../../api/endpoints'
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

const FILTERS = { q: text(), state: oneOf(['', ...STATES]), sort: text() }
const STATE_OPTIONS = STATES.map((value) => ({ value, label: endpointStateDisplay(value).label }))

export function EndpointsPage() {
  const workspace = useWorkspace()
  const endpoints = useQuery(endpointsQuery(workspace.id))
  const [filters, change] = useFilters(FILTERS)
  const search = useCallback((q: string) => change({ q }), [change])
  const isShown = (endpoint: { name: string; model: string; state: string }) =>
    (!filters.state || endpoint.state === filters.state) &&
    `${endpoint.name} ${endpoint.model}`.toLowerCase().includes(filters.q.toLowerCase())
  return (
    <>
      <PageHeader
        title="Endpoints"
        description="Models on dedicated GPUs, each with its own Model ID"
        actions={<NewButton />}
      />
      <div className={classes.stack}>
        <AllotmentPanel workspaceId={workspace.id} />
        {endpoints.data?.length !== 0 && (
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
          {(all) => {
            const shown = all.filter(isShown)
            if (all.length === 0) return <NoEndpoints />
            if (shown.length === 0) return <NoMatches onClear={() => change({ q: '', state: '' })} />
            return <EndpointTable endpoints={shown} sort={filters.sort} onSort={(sort) => change({ sort })} />
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
