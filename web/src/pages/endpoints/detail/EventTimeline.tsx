import { Button, SegmentedControl, Skeleton, Text, Timeline } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { type Endpoint, type EndpointEvent, eventsQuery } from '../../../api/endpoints'
import { oneOf } from '../../../ui/filters'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { Time } from '../../../ui/Time'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Endpoints.module.css'
import { describeEvent, EVENT_FILTERS, type EventFilter, filterEvents } from './events'

const FILTERS = { show: oneOf(EVENT_FILTERS) }
const CHOICES = [
  { value: 'all', label: 'All' },
  { value: 'states', label: 'States' },
  { value: 'scaling', label: 'Scaling' },
  { value: 'replicas', label: 'Replicas' },
]

/** Events, newest first: changes, autoscaler decisions, and replica lifecycle. */
export function EventTimeline({ endpoint }: { endpoint: Endpoint }) {
  const events = useInfiniteQuery(eventsQuery(endpoint.workspaceId, endpoint.name))
  const [{ show }, change] = useFilters(FILTERS)
  return (
    <Panel
      title="Events"
      description="Kept for 90 days"
      actions={
        <SegmentedControl
          aria-label="Events shown"
          data={CHOICES}
          value={show}
          onChange={(filter) => change({ show: filter as EventFilter })}
        />
      }
    >
      <Loaded query={events} skeleton={<Skeleton h={240} />} errorTitle="The events could not be loaded">
        {({ pages }) => {
          const shown = filterEvents(
            pages.flatMap((page) => page.data),
            show,
          )
          return shown.length ? <EventList events={shown} /> : <Text c="dimmed">No events of this kind yet.</Text>
        }}
      </Loaded>
      {events.hasNextPage ? (
        <Button mt="md" variant="default" loading={events.isFetchingNextPage} onClick={() => events.fetchNextPage()}>
          Earlier events
        </Button>
      ) : null}
    </Panel>
  )
}

function EventList({ events }: { events: EndpointEvent[] }) {
  return (
    <Timeline bulletSize={14} lineWidth={2} active={events.length}>
      {events.map((event) => {
        const { title, tone, message, by } = describeEvent(event)
        return (
          <Timeline.Item key={event.id} color={`var(--fb-${tone})`} lineVariant="solid">
            <div className={classes.event}>
              <Text fw={550}>{title}</Text>
              <Text size="sm" c="dimmed">
                <Time value={event.at} /> by {by}
              </Text>
            </div>
            {message ? <Text size="sm">{message}</Text> : null}
            {event.replicaId ? (
              <Text size="sm" c="dimmed" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
                {event.replicaId}
              </Text>
            ) : null}
          </Timeline.Item>
        )
      })}
    </Timeline>
  )
}
