import { Button, Code, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { ReactNode } from 'react'
import { DialogButtons } from './DialogButtons'
import { ErrorPanel } from './ErrorPanel'

type Props = {
  opened: boolean
  onClose: () => void
  title: string
  /** The text to type, usually a name. */
  expected: string
  /** Label of the button, such as "Delete endpoint". */
  action: string
  onConfirm: () => void
  isPending?: boolean
  error?: unknown
  /** Explains the consequences. */
  children: ReactNode
}

/** Confirmation for irreversible actions: the user types the name first. */
export function ConfirmByTyping(props: Props) {
  return (
    <Modal opened={props.opened} onClose={props.onClose} title={props.title}>
      <Fields {...props} />
    </Modal>
  )
}

/** A separate component, so that a reopened dialog starts empty. */
function Fields({ onClose, expected, action, onConfirm, isPending, error, children }: Props) {
  const form = useForm({ initialValues: { typed: '' } })
  const matches = form.values.typed.trim() === expected
  return (
    <form onSubmit={form.onSubmit(() => (matches ? onConfirm() : undefined))}>
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
          {...form.getInputProps('typed')}
        />
        {error ? <ErrorPanel error={error} /> : null}
        <DialogButtons onCancel={onClose}>
          <Button type="submit" color="red.8" disabled={!matches} loading={isPending}>
            {action}
          </Button>
        </DialogButtons>
      </Stack>
    </form>
  )
}
