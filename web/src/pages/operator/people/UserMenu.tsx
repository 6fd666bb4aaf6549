import { ActionIcon, Menu, Modal } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconDots, IconKey, IconTrash, IconUserCog } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiError } from '../../../api/errors'
import { deleteUser, resetPassword, setOperator, type User, users } from '../../../api/operator/users'
import { ConfirmByTyping } from '../../../ui/ConfirmByTyping'
import { ConfirmDialog } from '../../../ui/ConfirmDialog'
import { NewPassword } from './NewPassword'

type Dialog = 'reset' | 'delete' | undefined

/** What the operator can do with a user. Their own rights and account are changed by another operator. */
export function UserMenu({ user, isSelf }: { user: User; isSelf: boolean }) {
  const queries = useQueryClient()
  const [dialog, open] = useState<Dialog>()
  const onSettled = () => queries.invalidateQueries(users)
  const promote = useMutation({
    mutationFn: () => setOperator(user.id, !user.operator),
    onSettled,
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not change the user', message: toApiError(error).message }),
  })
  const reset = useMutation({ mutationFn: () => resetPassword(user.id), onSettled })
  const remove = useMutation({ mutationFn: () => deleteUser(user.id), onSuccess: () => open(undefined), onSettled })
  const close = () => {
    reset.reset()
    remove.reset()
    open(undefined)
  }
  const password = reset.data?.password
  return (
    <>
      <Menu position="bottom-end" width={240} shadow="md">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" c="dimmed" aria-label={`Actions for ${user.email}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconKey size={16} />} onClick={() => open('reset')}>
            Reset password
          </Menu.Item>
          <Menu.Item leftSection={<IconUserCog size={16} />} disabled={isSelf} onClick={() => promote.mutate()}>
            {user.operator ? 'Remove operator rights' : 'Make operator'}
          </Menu.Item>
          <Menu.Item leftSection={<IconTrash size={16} />} disabled={isSelf} onClick={() => open('delete')}>
            Delete user
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={dialog === 'reset' && !password}
        onClose={close}
        title="Reset password"
        action="Reset password"
        isPending={reset.isPending}
        error={reset.error}
        onConfirm={() => reset.mutate()}
      >
        {user.email} is signed out everywhere and needs the new password.
      </ConfirmDialog>
      <Modal opened={!!password} onClose={close} title="New password">
        {password ? <NewPassword email={user.email} password={password} onClose={close} /> : null}
      </Modal>
      <ConfirmByTyping
        opened={dialog === 'delete'}
        onClose={close}
        title="Delete user"
        expected={user.email}
        action="Delete user"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        The account and its sessions end. Keys that the user created keep working.
      </ConfirmByTyping>
    </>
  )
}
