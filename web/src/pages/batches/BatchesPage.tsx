import { Button, Tabs } from '@mantine/core'
import { IconFiles, IconListDetails, IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { useWorkspace } from '../../api/session'
import { oneOf } from '../../ui/filters'
import { PageHeader } from '../../ui/PageHeader'
import { useFilters } from '../../ui/useFilters'
import { BatchTable } from './BatchTable'
import { FileTable } from './FileTable'
import { NewBatch } from './NewBatch'
import { UploadButton } from './UploadButton'

const FILTERS = { tab: oneOf(['batches', 'files']) }

export function BatchesPage() {
  const workspace = useWorkspace()
  const [{ tab }, change] = useFilters(FILTERS)
  /** The chosen file; empty for none. */
  const [created, create] = useState<string>()
  const newBatch = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => create('')}>
      New batch
    </Button>
  )
  const upload = <UploadButton workspaceId={workspace.id} />
  return (
    <>
      <PageHeader
        title="Batches"
        description={`Calls of ${workspace.name} that can wait: they run when there is room`}
        actions={tab === 'files' ? upload : newBatch}
      />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => change({ tab: value === 'files' ? value : 'batches' })}
      >
        <Tabs.List mb="md" aria-label="Batches and files">
          <Tabs.Tab value="batches" leftSection={<IconListDetails size={16} />}>
            Batches
          </Tabs.Tab>
          <Tabs.Tab value="files" leftSection={<IconFiles size={16} />}>
            Files
          </Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="batches">
          <BatchTable workspaceId={workspace.id} newBatch={newBatch} />
        </Tabs.Panel>
        <Tabs.Panel value="files">
          <FileTable workspaceId={workspace.id} upload={upload} onUse={create} />
        </Tabs.Panel>
      </Tabs>
      <NewBatch
        key={created}
        opened={created !== undefined}
        workspaceId={workspace.id}
        fileId={created || undefined}
        onClose={() => create(undefined)}
      />
    </>
  )
}
