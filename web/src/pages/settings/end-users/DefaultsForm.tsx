import { Button, Checkbox, Group, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { endUsersOf } from '../../../api/end-users'
import { useApiForm } from '../../../api/form'
import { changeWorkspace, type Workspace, workspaceQuery } from '../../../api/workspaces'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { defaultsOf, isComplete, toSettings } from './end-user-values'
import { LimitFields } from './LimitFields'

/** What applies to end users without limits of their own; for administrators. */
export function DefaultsForm({ workspace }: { workspace: Workspace }) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: defaultsOf(workspace.endUsers),
    send: (values) => changeWorkspace(workspace.id, { version: workspace.version, endUsers: toSettings(values) }),
    onSuccess: (saved) => {
      queries.setQueryData(workspaceQuery(workspace.id).queryKey, saved)
      notifications.show({ title: 'Settings saved', message: 'They apply from the next call.' })
    },
    onSettled: (_, failed) => {
      if (failed) void queries.invalidateQueries(workspaceQuery(workspace.id))
      return queries.invalidateQueries(endUsersOf(workspace.id))
    },
  })
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <LimitFields form={form} placeholder="No limit" />
        <Checkbox
          label="Keep names"
          description="As they are sent, to show them here. Otherwise only a keyed hash of them is kept"
          {...form.getInputProps('keepText', { type: 'checkbox' })}
        />
        {error ? <ErrorPanel error={error} title="Could not save the settings" /> : null}
        <Group>
          <Button type="submit" loading={sending.isPending} disabled={!form.isDirty() || !isComplete(form.values)}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
