import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteDownload, refreshDownloads, type WeightsDownload } from '../../../../api/operator/weights'
import { ConfirmDialog } from '../../../../ui/ConfirmDialog'
import { Panel } from '../../../../ui/Panel'
import classes from '../../Operator.module.css'
import { DownloadProgress } from './DownloadProgress'
import { isActive, nameOf, shortName } from './downloads'

type Props = { downloads: readonly WeightsDownload[]; onUse: (weights: string) => void; onDeleted: () => void }

/** Downloads of all nodes: those that run, and files that are there. */
export function DownloadsPanel({ downloads, onUse, onDeleted }: Props) {
  const [deleted, setDeleted] = useState<WeightsDownload>()
  return (
    <Panel title="Downloads" description="On the machines of all nodes">
      <Stack gap="sm">
        {downloads.map((download) => (
          <div key={download.id} className={classes.upstream}>
            <Text fw={500} style={{ overflowWrap: 'anywhere' }}>
              {shortName(download.weights)}
            </Text>
            <Text size="sm" c="dimmed">
              {`On ${download.nodeId}`}
            </Text>
            <DownloadProgress download={download} />
            {download.usedBy.length > 0 ? <Text size="sm">{`Used by ${download.usedBy.join(', ')}`}</Text> : null}
            {isActive(download) ? null : (
              <Group gap="xs">
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Use ${nameOf(download)}`}
                  onClick={() => onUse(download.weights)}
                >
                  Use
                </Button>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Delete files of ${nameOf(download)}`}
                  disabled={download.usedBy.length > 0}
                  onClick={() => setDeleted(download)}
                >
                  Delete files
                </Button>
              </Group>
            )}
          </div>
        ))}
      </Stack>
      {deleted ? <DeleteFiles download={deleted} onDeleted={onDeleted} onClose={() => setDeleted(undefined)} /> : null}
    </Panel>
  )
}

type DeleteProps = { download: WeightsDownload; onDeleted: () => void; onClose: () => void }

function DeleteFiles({ download, onDeleted, onClose }: DeleteProps) {
  const queries = useQueryClient()
  const remove = useMutation({
    mutationFn: () => deleteDownload(download.id),
    onSuccess: () => {
      void refreshDownloads(queries)
      onDeleted()
      onClose()
    },
  })
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title="Delete files"
      action="Delete files"
      onConfirm={() => remove.mutate()}
      isPending={remove.isPending}
      error={remove.error}
    >
      {`${shortName(download.weights)} is deleted from the machine of ${download.nodeId}. To run it again, download it again.`}
    </ConfirmDialog>
  )
}
