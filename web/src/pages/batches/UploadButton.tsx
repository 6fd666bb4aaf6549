import { Button, FileButton } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconUpload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { toApiError } from '../../api/errors'
import { filesOf, type StoredFile, uploadFile } from '../../api/files'
import { formatBytes } from '../../ui/format'

type Props = { workspaceId: string; variant?: string; onUploaded?: (file: StoredFile, local: File) => void }

/** Chooses a file of calls on this machine, and uploads it. */
export function UploadButton({ workspaceId, variant, onUploaded }: Props) {
  const queries = useQueryClient()
  const upload = useMutation({
    mutationFn: uploadFile,
    onSuccess: (file, local) => {
      notifications.show({ title: 'File uploaded', message: `${file.filename}, ${formatBytes(file.bytes)}` })
      onUploaded?.(file, local)
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not upload the file', message: toApiError(error).message }),
    onSettled: () => queries.invalidateQueries(filesOf(workspaceId)),
  })
  return (
    <FileButton accept=".jsonl,.ndjson,.json,.txt" onChange={(file) => file && upload.mutate(file)}>
      {(props) => (
        <Button {...props} variant={variant} leftSection={<IconUpload size={16} />} loading={upload.isPending}>
          Upload file
        </Button>
      )}
    </FileButton>
  )
}
