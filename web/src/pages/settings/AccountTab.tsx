import { Button, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { toApiError } from '../../api/errors'
import { endSession, type OwnSession, sessionsQuery } from '../../api/sessions'
import { type Column, DataTable } from '../../ui/DataTable'
import { Loaded } from '../../ui/Loaded'
import { Panel } from '../../ui/Panel'
import { TableSkeleton } from '../../ui/Skeletons'
import { StatusBadge } from '../../ui/StatusBadge'
import { Time } from '../../ui/Time'
import { browserOf } from './browser'
import { PasswordForm } from './PasswordForm'

const COLUMNS: Column<OwnSession>[] = [
  {
    id: 'browser',
    header: 'Browser',
    cell: (session) => <span title={session.userAgent}>{browserOf(session.userAgent)}</span>,
  },
  { id: 'address', header: 'Signed in from', cell: (session) => session.address },
  { id: 'created', header: 'Signed in', cell: (session) => <Time value={session.createdAt} /> },
  { id: 'seen', header: 'Last seen', cell: (session) => <Time value={session.seenAt} /> },
  { id: 'expires', header: 'Expires', cell: (session) => <Time value={session.expiresAt} /> },
  { id: 'actions', header: 'Actions', isActions: true, cell: (session) => <EndSession session={session} /> },
]

export function AccountTab() {
  const sessions = useQuery(sessionsQuery)
  return (
    <Stack gap="md">
      <section aria-labelledby="sessions-title">
        <Text component="h2" id="sessions-title" fw={600} fz="lg" m={0}>
          Where you are signed in
        </Text>
        <Text size="sm" c="dimmed" mb="sm">
          End any session you do not recognize, then change your password
        </Text>
        <Loaded query={sessions} skeleton={<TableSkeleton rows={3} />} errorTitle="The sessions could not be loaded">
          {(all) => (
            <DataTable
              caption="Sessions"
              columns={COLUMNS}
              rows={all}
              rowKey={(session) => session.id}
              minWidth={680}
            />
          )}
        </Loaded>
      </section>
      <Panel title="Password" description="Changing it signs you out everywhere else">
        <PasswordForm />
      </Panel>
    </Stack>
  )
}

function EndSession({ session }: { session: OwnSession }) {
  const queries = useQueryClient()
  const end = useMutation({
    mutationFn: () => endSession(session.id),
    onSettled: () => queries.invalidateQueries(sessionsQuery),
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not end the session', message: toApiError(error).message }),
  })
  if (session.current) return <StatusBadge tone="ok">This session</StatusBadge>
  return (
    <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
      End session
    </Button>
  )
}
