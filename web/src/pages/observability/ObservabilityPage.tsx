import { Select, Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallers } from '../../api/callers'
import { endpointsQuery } from '../../api/endpoints'
import { modelsQuery } from '../../api/models'
import type { SeriesLine } from '../../api/series'
import { useOrganization, useWorkspace } from '../../api/session'
import { SURFACE_OPTIONS, SURFACES } from '../../api/surfaces'
import { TimeRangePicker } from '../../charts/TimeRangePicker'
import { TIME_RANGE_FILTERS, zoomTo } from '../../charts/time-range'
import { useWindow } from '../../charts/use-window'
import { FilterSelect } from '../../ui/FilterSelect'
import { oneOf, text } from '../../ui/filters'
import { PageHeader } from '../../ui/PageHeader'
import { useFilters } from '../../ui/useFilters'
import { CallerFilter } from './CallerFilter'
import { Dashboard } from './Dashboard'
import { EndUserFilter } from './EndUserFilter'
import classes from './Observability.module.css'
import { RequestLog } from './RequestLog'
import { lineName, targetOf, targetValue } from './targets'

const FILTERS = {
  ...TIME_RANGE_FILTERS,
  tab: oneOf(['charts', 'requests']),
  by: oneOf(['', 'model', 'key', 'endpoint']),
  model: text(),
  endpoint: text(),
  key: text(),
  surface: oneOf(['', ...SURFACES]),
  endUser: text(),
}
type Tab = (typeof FILTERS)['tab']['fallback']
const GROUPINGS = [
  { value: 'model', label: 'Group by model' },
  { value: 'key', label: 'Group by key' },
  { value: 'endpoint', label: 'Group by endpoint' },
]

export function ObservabilityPage() {
  const workspace = useWorkspace()
  const organization = useOrganization()
  const [filters, change] = useFilters(FILTERS)
  const models = useQuery(modelsQuery(workspace.id))
  const endpoints = useQuery(endpointsQuery(workspace.id))
  const { callers, nameOf: callerNameOf } = useCallers(workspace.id, organization.id)
  const window = useWindow(filters)
  const nameOf = (line: SeriesLine) => lineName(line, callerNameOf)
  const targets = [
    { group: 'Models', items: (models.data ?? []).map(({ id, name }) => ({ value: `model:${id}`, label: name })) },
    {
      group: 'Endpoints',
      items: (endpoints.data ?? []).map(({ name }) => ({ value: `endpoint:${name}`, label: name })),
    },
  ]
  const only = {
    model: filters.model || undefined,
    endpoint: filters.endpoint || undefined,
    key: filters.key || undefined,
    surface: filters.surface || undefined,
  }
  return (
    <>
      <PageHeader
        title="Observability"
        description={`Calls in ${workspace.name}, without their prompts and responses`}
      />
      <search className={classes.filters} aria-label="Calls">
        <Select
          aria-label="Model or endpoint"
          placeholder="All models and endpoints"
          clearable
          searchable
          data={targets}
          value={targetValue(filters)}
          onChange={(value) => change(targetOf(value))}
        />
        <CallerFilter
          workspaceId={workspace.id}
          callers={callers}
          nameOf={callerNameOf}
          value={filters.key}
          onChange={(key) => change({ key })}
        />
        <FilterSelect
          label="API"
          placeholder="All APIs"
          data={SURFACE_OPTIONS}
          value={filters.surface}
          onChange={(surface) => change({ surface })}
        />
        {filters.tab === 'requests' ? (
          <EndUserFilter
            workspaceId={workspace.id}
            value={filters.endUser}
            onChange={(endUser) => change({ endUser })}
          />
        ) : null}
        {filters.tab === 'charts' ? (
          <FilterSelect
            label="Group by"
            placeholder="No grouping"
            data={GROUPINGS}
            value={filters.by}
            onChange={(by) => change({ by })}
          />
        ) : null}
      </search>
      <Tabs value={filters.tab} onChange={(tab) => change({ tab: (tab ?? 'charts') as Tab })} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="charts">Charts</Tabs.Tab>
          <Tabs.Tab value="requests">Requests</Tabs.Tab>
        </Tabs.List>
        <div className={classes.stack}>
          <TimeRangePicker values={filters} change={change} withMoments />
          <Tabs.Panel value="charts">
            <Dashboard
              workspaceId={workspace.id}
              window={window}
              only={only}
              by={filters.by}
              nameOf={nameOf}
              onZoom={(from, to) => change(zoomTo(from, to))}
              onSurface={(surface) => change({ tab: 'requests', surface })}
            />
          </Tabs.Panel>
          <Tabs.Panel value="requests">
            <RequestLog
              workspaceId={workspace.id}
              window={window}
              only={{ ...only, endUser: filters.endUser || undefined }}
              callerNameOf={callerNameOf}
            />
          </Tabs.Panel>
        </div>
      </Tabs>
    </>
  )
}
