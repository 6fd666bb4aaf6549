import { Button, Group, SimpleGrid, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef } from 'react'
import { changePassword, sessionsQuery } from '../../api/sessions'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { PASSWORD_RULE, PasswordField } from '../../ui/PasswordField'

/** Uncontrolled fields, so that password managers can fill them. */
export function PasswordForm() {
  const form = useRef<HTMLFormElement>(null)
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: changePassword,
    onSuccess: () => {
      form.current?.reset()
      notifications.show({ title: 'Password changed', message: 'Your other sessions have ended.' })
    },
    onSettled: () => queries.invalidateQueries(sessionsQuery),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const text = (name: string) => String(fields.get(name) ?? '')
    change.mutate({ currentPassword: text('current'), newPassword: text('new') })
  }
  return (
    <form ref={form} onSubmit={submit}>
      <Stack gap="sm">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" maw={640}>
          <PasswordField name="current" label="Current password" autoComplete="current-password" />
          <PasswordField
            name="new"
            label="New password"
            description={PASSWORD_RULE}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            autoComplete="new-password"
          />
        </SimpleGrid>
        {change.error ? <ErrorPanel error={change.error} title="Could not change the password" /> : null}
        <Group>
          <Button type="submit" variant="default" loading={change.isPending}>
            Change password
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
