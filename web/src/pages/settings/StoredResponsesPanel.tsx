import { Button, Group, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useApiForm } from '../../api/form'
import { changeWorkspace, type Workspace, workspaceQuery } from '../../api/workspaces'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { OptionalNumber } from '../../ui/OptionalNumber'
import { Panel } from '../../ui/Panel'
import { retentionText } from './retention'

const MAX_DAYS = 30

type Props = { workspace: Workspace; isAdmin: boolean }

/** How long responses are stored; administrators change it. */
export function StoredResponsesPanel({ workspace, isAdmin }: Props) {
  return (
    <Panel
      title="Stored responses"
      description="Clients of /v1/responses can continue a conversation by the id of its last response. Content is encrypted where it is stored"
    >
      <Text size="sm" mb={isAdmin ? 'sm' : 0}>
        {retentionText(workspace.responseRetentionDays)}
      </Text>
      {isAdmin ? <RetentionForm workspace={workspace} /> : null}
    </Panel>
  )
}

function RetentionForm({ workspace }: { workspace: Workspace }) {
  const queries = useQueryClient()
  const current = workspace.responseRetentionDays ?? undefined
  const { form, sending, submit, error } = useApiForm({
    initialValues: { responseRetentionDays: current },
    send: ({ responseRetentionDays }) =>
      changeWorkspace(workspace.id, {
        version: workspace.version,
        responseRetentionDays: responseRetentionDays ?? null,
      }),
    onSuccess: (saved) => {
      queries.setQueryData(workspaceQuery(workspace.id).queryKey, saved)
      notifications.show({ title: 'Settings saved', message: retentionText(saved.responseRetentionDays) })
    },
    onSettled: (_, error) => (error ? queries.invalidateQueries(workspaceQuery(workspace.id)) : undefined),
  })
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <OptionalNumber
          label="Days to store responses"
          description={`1 to ${MAX_DAYS}; empty turns it off and deletes them`}
          placeholder="Off"
          min={1}
          max={MAX_DAYS}
          allowDecimal={false}
          allowNegative={false}
          {...form.getInputProps('responseRetentionDays')}
        />
        <Button type="submit" loading={sending.isPending} disabled={form.values.responseRetentionDays === current}>
          Save days
        </Button>
      </Group>
      {error ? <ErrorPanel error={error} title="Could not save the setting" /> : null}
    </form>
  )
}
