import { Button, Modal, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Key, keysOf, rotateKey } from '../../api/keys'
import { DialogButtons } from '../../ui/DialogButtons'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { NewSecret } from './NewSecret'

type Props = { apiKey: Key | undefined; workspaceId: string; onClose: () => void }

const OVERLAPS = [
  { value: '0', label: 'Stops working immediately' },
  { value: '3600', label: 'Works for another hour' },
  { value: '86400', label: 'Works for another day' },
  { value: '604800', label: 'Works for another 7 days' },
]
/** A rotated key is rejected at once, unless an overlap is chosen. */
export const DEFAULT_OVERLAP = '0'

/** Replaces the secret of a key. The old one can stay valid for a while, so that programs can switch over. */
export function RotateKey({ apiKey, workspaceId, onClose }: Props) {
  const [isSecretShown, setSecretShown] = useState(false)
  return (
    <Modal
      opened={!!apiKey}
      onClose={() => isSecretShown || onClose()}
      title={isSecretShown ? 'Key rotated' : `Rotate ${apiKey?.name ?? 'key'}`}
      withCloseButton={!isSecretShown}
    >
      {apiKey ? (
        <Rotation
          apiKey={apiKey}
          workspaceId={workspaceId}
          onSecret={() => setSecretShown(true)}
          onClose={() => {
            setSecretShown(false)
            onClose()
          }}
        />
      ) : null}
    </Modal>
  )
}

function Rotation({ apiKey, workspaceId, onSecret, onClose }: Props & { apiKey: Key; onSecret: () => void }) {
  const queries = useQueryClient()
  const [overlap, setOverlap] = useState(DEFAULT_OVERLAP)
  const rotate = useMutation({
    mutationFn: () => rotateKey(workspaceId, apiKey.id, Number(overlap)),
    onSuccess: onSecret,
    onSettled: () => queries.invalidateQueries(keysOf(workspaceId)),
  })
  if (rotate.data?.key) {
    const after = OVERLAPS.find((one) => one.value === overlap)?.label.toLowerCase()
    return (
      <NewSecret secret={rotate.data.key} workspaceId={workspaceId} note={`The old key ${after}.`} onClose={onClose} />
    )
  }
  return (
    <Stack gap="sm">
      <Text>The key keeps its name, limits and history and gets a new secret.</Text>
      <Select
        label="The old key"
        data={OVERLAPS}
        value={overlap}
        allowDeselect={false}
        data-autofocus
        onChange={(value) => setOverlap(value ?? DEFAULT_OVERLAP)}
      />
      {rotate.error ? <ErrorPanel error={rotate.error} title="Could not rotate the key" /> : null}
      <DialogButtons onCancel={onClose}>
        <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
          Rotate key
        </Button>
      </DialogButtons>
    </Stack>
  )
}
