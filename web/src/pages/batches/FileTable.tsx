import { ActionIcon, Button, Group, Stack, Text } from '@mantine/core'
import { IconDownload, IconFiles, IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { contentOf, deleteFile, filesOf, fileTableQuery, type StoredFile } from '../../api/files'
import { useTable } from '../../api/pages'
import { ConfirmDialog } from '../../ui/ConfirmDialog'
import { type Column, DataTable } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { formatBytes } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { TableSkeleton } from '../../ui/Skeletons'
import { Time } from '../../ui/Time'
import { isoOf } from './progress'

const PURPOSES: Record<string, string> = { batch: 'Input', batch_output: 'Results' }

type Props = {
  workspaceId: string
  upload: ReactNode
  /** Makes a batch of a file. */
  onUse: (id: string) => void
}

/** Files, newest first. */
export function FileTable({ workspaceId, upload, onUse }: Props) {
  const files = useTable(fileTableQuery(workspaceId))
  const [deleted, setDeleted] = useState<StoredFile>()
  return (
    <>
      <Loaded query={files} skeleton={<TableSkeleton />} errorTitle="The files could not be loaded">
        {(table) =>
          table.rows.length === 0 ? (
            <EmptyState title="No files" icon={<IconFiles size={32} />} actions={upload}>
              A batch reads its calls from a file, and writes its results into files.
            </EmptyState>
          ) : (
            <DataTable
              caption="Files"
              columns={columns(onUse, setDeleted)}
              rows={table}
              rowKey={({ id }) => id}
              minWidth={720}
            />
          )
        }
      </Loaded>
      <DeleteFile file={deleted} workspaceId={workspaceId} onClose={() => setDeleted(undefined)} />
    </>
  )
}

const columns = (onUse: (id: string) => void, onDelete: (file: StoredFile) => void): Column<StoredFile>[] => [
  {
    id: 'name',
    header: 'File',
    cell: ({ id, filename }) => (
      <Stack gap={0}>
        <span style={{ overflowWrap: 'anywhere' }}>{filename}</span>
        <Text span size="xs" c="dimmed" ff="monospace" fw={400}>
          {id}
        </Text>
      </Stack>
    ),
  },
  { id: 'purpose', header: 'Purpose', cell: ({ purpose }) => PURPOSES[purpose] ?? purpose },
  { id: 'bytes', header: 'Size', align: 'right', cell: ({ bytes }) => formatBytes(bytes) },
  { id: 'created', header: 'Created', cell: ({ created_at }) => <Time value={isoOf(created_at)} /> },
  { id: 'expires', header: 'Expires', cell: ({ expires_at }) => <Time value={isoOf(expires_at)} /> },
  {
    id: 'actions',
    header: 'Actions',
    isActions: true,
    cell: (file) => (
      <Group gap={4} wrap="nowrap" justify="flex-end">
        {file.purpose === 'batch' ? (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`New batch of ${file.filename}`}
            onClick={() => onUse(file.id)}
          >
            New batch
          </Button>
        ) : null}
        <ActionIcon
          component="a"
          href={contentOf(file.id)}
          download={file.filename}
          variant="subtle"
          color="gray"
          c="dimmed"
          aria-label={`Download ${file.filename}`}
          title="Download"
        >
          <IconDownload size={16} />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          c="dimmed"
          aria-label={`Delete ${file.filename}`}
          title="Delete"
          onClick={() => onDelete(file)}
        >
          <IconTrash size={16} />
        </ActionIcon>
      </Group>
    ),
  },
]

type DeleteProps = { file: StoredFile | undefined; workspaceId: string; onClose: () => void }

function DeleteFile({ file, workspaceId, onClose }: DeleteProps) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: deleteFile,
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(filesOf(workspaceId)),
  })
  return (
    <ConfirmDialog
      opened={!!file}
      onClose={() => {
        remove.reset()
        onClose()
      }}
      title="Delete file"
      action="Delete file"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => file && remove.mutate(file.id)}
    >
      {file?.filename} is deleted for good. Batches that have read it continue.
    </ConfirmDialog>
  )
}
