import { Anchor, Button, Code, Group, Stack, Switch, Text } from '@mantine/core'
import { IconListSearch } from '@tabler/icons-react'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { CALL_CLASS_OPTIONS, CALL_CLASSES } from '../../api/call-classes'
import { FASTEST_POLL_MS } from '../../api/polling'
import { type LoggedRequest, requestsCsv, requestsQuery, type Window } from '../../api/series'
import { surfaceLabel } from '../../api/surfaces'
import { type Column, DataTable } from '../../ui/DataTable'
import { DownloadLink } from '../../ui/DownloadLink'
import { EmptyState } from '../../ui/EmptyState'
import { FilterSelect } from '../../ui/FilterSelect'
import { oneOf, text } from '../../ui/filters'
import { formatCount, formatDuration, formatMoney } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { SearchField } from '../../ui/SearchField'
import { TableSkeleton } from '../../ui/Skeletons'
import { StatusBadge } from '../../ui/StatusBadge'
import { Time } from '../../ui/Time'
import { useFilters } from '../../ui/useFilters'
import classes from './Observability.module.css'
import { RequestDrawer } from './RequestDrawer'
import { toneOfStatus } from './status'
import type { RequestFilter } from './targets'

const STATUSES = ['', '2xx', 'failed', '4xx', '429', '5xx', '499'] as const
const STATUS_OPTIONS = [
  { value: '2xx', label: '2xx: succeeded' },
  { value: 'failed', label: 'Failed: rejected or broken' },
  { value: '4xx', label: '4xx: rejected' },
  { value: '429', label: '429: over a limit' },
  { value: '5xx', label: '5xx: failed' },
  { value: '499', label: '499: cancelled by the client' },
]
/** Least durations in milliseconds. */
const DURATIONS = ['', '1000', '5000', '30000', '60000'] as const
const DURATION_OPTIONS = DURATIONS.filter(Boolean).map((ms) => ({
  value: ms,
  label: `At least ${formatDuration(Number(ms))}`,
}))
/** Calls differ at the end of their ids; the details have the whole id. */
const SHOWN_OF_ID = 8
const NEWEST_FIRST = '-at'
const SORTS = [NEWEST_FIRST, 'at', 'duration', '-duration', 'tokens', '-tokens', 'cost', '-cost'] as const
const FILTERS = {
  status: oneOf(STATUSES),
  class: oneOf(['', ...CALL_CLASSES]),
  code: text(),
  request: text(),
  id: text(),
  slower: oneOf(DURATIONS),
  live: oneOf(['', '1']),
  sort: oneOf(SORTS),
}

type Props = {
  workspaceId: string
  window: Window
  only: RequestFilter
  callerNameOf: (id: string | null | undefined) => string
}

/** Request log, newest first unless it is sorted by a figure. */
export function RequestLog({ workspaceId, window, only, callerNameOf }: Props) {
  const [filters, change] = useFilters(FILTERS)
  const parameters = {
    ...only,
    status: filters.status || undefined,
    class: filters.class || undefined,
    code: filters.code || undefined,
    request: filters.id || undefined,
    minDurationMillis: filters.slower ? Number(filters.slower) : undefined,
  }
  const { sort } = filters
  const isNewestFirst = sort === NEWEST_FIRST
  // A call that is looked up by its id may be of any time.
  const canTail = window.liveMs !== undefined && !filters.id && isNewestFirst
  const liveMs = canTail && filters.live ? FASTEST_POLL_MS : window.liveMs
  // A sorted log would be read again with all of its loaded pages.
  const shown = { ...window, liveMs: isNewestFirst ? liveMs : undefined }
  const sorted = isNewestFirst ? parameters : { ...parameters, sort }
  const log = useInfiniteQuery(requestsQuery(workspaceId, sorted, filters.id ? {} : shown))
  const find = useCallback((id: string) => change({ id: id.trim() }), [change])
  const search = useCallback((code: string) => change({ code: code.trim() }), [change])
  const opened = log.data?.pages.flatMap((page) => page.data).find((one) => one.id === filters.request)
  return (
    <div className={classes.stack}>
      <search className={classes.filters} aria-label="Requests" style={{ marginBlockEnd: 0 }}>
        <FilterSelect
          label="Status"
          placeholder="Any status"
          data={STATUS_OPTIONS}
          value={filters.status}
          onChange={(status) => change({ status })}
        />
        <FilterSelect
          label="Class"
          placeholder="Any class"
          data={CALL_CLASS_OPTIONS}
          value={filters.class}
          onChange={(one) => change({ class: one })}
        />
        <FilterSelect
          label="Duration"
          placeholder="Any duration"
          data={DURATION_OPTIONS}
          value={filters.slower}
          onChange={(slower) => change({ slower: DURATIONS.find((one) => one === slower) ?? '' })}
        />
        <SearchField label="Request id" placeholder="req_…" value={filters.id} onChange={find} />
        <SearchField label="Error code" placeholder="Exact error code" value={filters.code} onChange={search} />
        <Group justify="flex-end" gap="sm" style={{ flex: '1 1 18rem', maxWidth: 'none' }}>
          {isNewestFirst ? null : (
            <Button variant="default" onClick={() => change({ sort: NEWEST_FIRST })}>
              Newest first
            </Button>
          )}
          <Switch
            label="Live tail"
            disabled={!canTail}
            checked={canTail && !!filters.live}
            onChange={(event) => change({ live: event.currentTarget.checked ? '1' : '' })}
          />
          <DownloadLink href={requestsCsv(workspaceId, parameters, window)}>Download CSV</DownloadLink>
        </Group>
      </search>
      <Loaded query={log} skeleton={<TableSkeleton />} errorTitle="The requests could not be loaded">
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.data)
          if (rows.length === 0) {
            return (
              <EmptyState title="No calls found" icon={<IconListSearch size={32} />}>
                Choose a longer time range or fewer filters. Calls appear a few seconds after they end.
              </EmptyState>
            )
          }
          return (
            <DataTable
              caption="Requests"
              columns={columns(callerNameOf, (request) => change({ request }))}
              rows={{
                rows,
                hasMore: log.hasNextPage,
                isLoading: log.isFetchingNextPage,
                label: isNewestFirst ? 'Earlier requests' : undefined,
                onMore: () => void log.fetchNextPage(),
              }}
              rowKey={(one) => one.id}
              sort={sort}
              onSort={(next) => change({ sort: SORTS.find((one) => one === next) ?? NEWEST_FIRST })}
              minWidth={1000}
            />
          )
        }}
      </Loaded>
      <RequestDrawer
        id={filters.request}
        request={opened}
        isLoading={log.isPending}
        callerNameOf={callerNameOf}
        onClose={() => change({ request: '' })}
      />
    </div>
  )
}

/** Calls to an endpoint are part of its GPU-hours. */
const costOf = ({ model, costUsd }: LoggedRequest) => (model?.startsWith('dedicated/') ? '–' : formatMoney(costUsd))

function columns(
  callerNameOf: (id: string | null | undefined) => string,
  onOpen: (id: string) => void,
): Column<LoggedRequest>[] {
  const millis = (value: number | null | undefined) => (value == null ? '–' : formatDuration(value))
  return [
    {
      id: 'id',
      header: 'Request',
      cell: (one) => (
        <Anchor
          component="button"
          type="button"
          title={one.id}
          onClick={() => onOpen(one.id)}
          aria-label={`Details of ${one.id}`}
        >
          <Code bg="transparent" p={0} c="inherit">
            …{one.id.slice(-SHOWN_OF_ID)}
          </Code>
        </Anchor>
      ),
    },
    {
      id: 'at',
      header: 'When',
      sortBy: 'server',
      cell: (one) => <Time value={one.at} />,
    },
    {
      id: 'status',
      header: 'Status',
      cell: (one) => (
        <span className={classes.status}>
          <StatusBadge tone={toneOfStatus(one.status, one.code)}>
            {one.code ? `${one.status} ${one.code}` : String(one.status)}
          </StatusBadge>
        </span>
      ),
    },
    {
      id: 'model',
      header: 'Model',
      cell: (one) => (
        <Stack gap={0}>
          {one.model ? (
            <span className={classes.name}>{one.model}</span>
          ) : (
            <Text span size="sm" c="dimmed">
              unknown model
            </Text>
          )}
          <Text span size="xs" c="dimmed">
            {surfaceLabel(one.surface)}
          </Text>
        </Stack>
      ),
    },
    {
      id: 'caller',
      header: 'Caller',
      cell: (one) => <span className={classes.name}>{callerNameOf(one.key ?? one.user)}</span>,
    },
    {
      id: 'tokens',
      header: 'Tokens',
      align: 'right',
      sortBy: 'server',
      cell: (one) => `${formatCount(one.promptTokens)} / ${formatCount(one.completionTokens)}`,
    },
    { id: 'cost', header: 'Cost', align: 'right', sortBy: 'server', cell: (one) => costOf(one) },
    { id: 'first', header: 'First byte', align: 'right', cell: (one) => millis(one.firstByteMillis) },
    {
      id: 'duration',
      header: 'Duration',
      align: 'right',
      sortBy: 'server',
      cell: (one) => formatDuration(one.durationMillis),
    },
  ]
}
