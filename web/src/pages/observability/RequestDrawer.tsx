import { Anchor, Code, Drawer, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { classLabel } from '../../api/call-classes'
import { endUserQuery } from '../../api/end-users'
import type { LoggedRequest } from '../../api/series'
import { useWorkspace } from '../../api/session'
import { surfaceLabel } from '../../api/surfaces'
import { paths } from '../../paths'
import { CopyButton } from '../../ui/CopyButton'
import { endUserName } from '../../ui/end-users'
import { Facts } from '../../ui/Facts'
import { formatCount, formatDuration, formatMoney, formatTime } from '../../ui/format'
import { Link } from '../../ui/Link'
import { StatusBadge } from '../../ui/StatusBadge'
import { failoverText, toneOfStatus } from './status'

type Props = {
  id: string
  request: LoggedRequest | undefined
  isLoading: boolean
  callerNameOf: (id: string | null | undefined) => string
  onClose: () => void
}

/** Details of one call. */
export function RequestDrawer({ id, request, isLoading, callerNameOf, onClose }: Props) {
  return (
    <Drawer opened={!!id} onClose={onClose} position="right" size="md" title={<Text fw={600}>Request</Text>}>
      <Stack gap="md">
        <Group gap={4} wrap="nowrap">
          <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
          <CopyButton value={id} label="Copy request id" />
        </Group>
        {request ? (
          <RequestFacts request={request} callerNameOf={callerNameOf} />
        ) : (
          <Text c="dimmed">
            {isLoading ? 'Loading…' : 'Not in the list. Choose another time range, or load earlier requests.'}
          </Text>
        )}
      </Stack>
    </Drawer>
  )
}

const CERTAINTY: Record<string, string> = {
  exact: 'reported by the engine',
  estimated: 'estimated: the engine did not report all of it',
  void: 'not counted',
}
const DEDICATED = 'dedicated/'

function RequestFacts({ request, callerNameOf }: { request: LoggedRequest; callerNameOf: Props['callerNameOf'] }) {
  const millis = (value: number | null | undefined) => (value == null ? '–' : formatDuration(value))
  const rows: [string, ReactNode][] = [
    ['Received', formatTime(request.at)],
    [
      'Status',
      <StatusBadge key="status" tone={toneOfStatus(request.status, request.code)}>
        {String(request.status)}
      </StatusBadge>,
    ],
    ['Error code', request.code ? <Code key="code">{request.code}</Code> : 'none'],
    [
      'Model',
      request.model ? <ModelLink key="model" model={request.model} /> : 'unknown: the requested model does not exist',
    ],
    ['Requested name', request.requestedModel ?? request.model ?? 'unknown'],
    ['API', surfaceLabel(request.surface)],
    ['Class', classLabel(request.class)],
    ...(request.batch ? [['Batch', <BatchLink key="batch" id={request.batch} />] as [string, ReactNode]] : []),
    ['Caller', `${callerNameOf(request.key ?? request.user)} (${request.key ? 'API key' : 'Playground'})`],
    ...(request.endUser
      ? [['End user', <EndUserLink key="end-user" id={request.endUser} />] as [string, ReactNode]]
      : []),
    ['Response', request.streamed ? 'streamed' : 'not streamed'],
    ['Prompt tokens', `${formatCount(request.promptTokens)}, ${formatCount(request.cachedTokens)} of them cached`],
    ['Completion tokens', formatCount(request.completionTokens)],
    ['Token counts', CERTAINTY[request.certainty] ?? request.certainty],
    [
      'Cost',
      request.model?.startsWith(DEDICATED) ? 'included in the endpoint’s GPU-hours' : formatMoney(request.costUsd),
    ],
    ['Held', request.holdMillis == null ? 'not held' : `${millis(request.holdMillis)}, until a replica was free`],
    ['Queued', millis(request.queueMillis)],
    ['Time to first byte', millis(request.firstByteMillis)],
    ['Duration', formatDuration(request.durationMillis)],
    ['Replica', request.replica ?? 'none'],
    ['Failover', failoverText(request.failovers)],
  ]
  return <Facts rows={rows} />
}

function ModelLink({ model }: { model: string }) {
  const href = model.startsWith(DEDICATED) ? paths.endpoint(model.slice(DEDICATED.length)) : paths.model(model)
  return (
    <Anchor component={Link} href={href}>
      {model}
    </Anchor>
  )
}

/** The batch whose line the call was. */
const BatchLink = ({ id }: { id: string }) => (
  <Anchor component={Link} href={paths.batch(id)}>
    {id}
  </Anchor>
)

/** The name, if the workspace keeps it, with a link to all calls. */
function EndUserLink({ id }: { id: string }) {
  const endUser = useQuery(endUserQuery(useWorkspace().id, id))
  return (
    <Anchor component={Link} href={paths.observability({ tab: 'requests', endUser: id })}>
      {endUserName(id, endUser.data?.name)}
    </Anchor>
  )
}
