import { Button, Code, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { ErrorPanel } from './ErrorPanel'

type Props = {
  opened: boolean
  onClose: () => void
  title: string
  /** What has to be typed: the name of the thing. */
  expected: string
  /** The verb on the button: "Delete endpoint". */
  action: string
  onConfirm: () => void
  isPending?: boolean
  error?: unknown
  /** What happens then. */
  children: ReactNode
}

/** For what cannot be undone: the name is typed first. */
export function ConfirmByTyping(props: Props) {
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={props.title}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Fields {...props} />
    </Modal>
  )
}

/** Apart, so that a dialog that is opened again starts empty. */
function Fields({ onClose, expected, action, onConfirm, isPending, error, children }: Props) {
  const [typed, setTyped] = useState('')
  const matches = typed.trim() === expected
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (matches) onConfirm()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text component="div">{children}</Text>
        <TextInput
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          label={
            <>
              Type <Code>{expected}</Code> to confirm
            </>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        {error ? <ErrorPanel error={error} /> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red.8" disabled={!matches} loading={isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
