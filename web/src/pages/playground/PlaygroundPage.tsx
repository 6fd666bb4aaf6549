import { Tabs } from '@mantine/core'
import { IconMessages, IconVector } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { endpointsQuery } from '../../api/endpoints'
import { modelsQuery } from '../../api/models'
import { useWorkspace } from '../../api/session'
import { Loaded } from '../../ui/Loaded'
import { PageHeader } from '../../ui/PageHeader'
import { PanelSkeleton } from '../../ui/Skeletons'
import { useFilters } from '../../ui/useFilters'
import { ChatTab } from './ChatTab'
import { EmbeddingsTab } from './EmbeddingsTab'
import { FILTERS } from './filters'
import { type Modality, modelOptions, tabFor } from './model-options'

const TABS = { chat: 'chat', embedding: 'embeddings' } as const

export function PlaygroundPage() {
  const workspace = useWorkspace()
  const models = useQuery(modelsQuery(workspace.id))
  const endpoints = useQuery(endpointsQuery(workspace.id))
  const [{ tab, model }, change] = useFilters(FILTERS)
  // Catalogue models are shown without waiting for the endpoints.
  const optionsOf = (modality: Modality) => modelOptions(models.data ?? [], endpoints.data ?? [], modality)
  const options = { chat: optionsOf('chat'), embedding: optionsOf('embedding') }
  return (
    <>
      <PageHeader title="Playground" description={`Try models and endpoints; calls count towards ${workspace.name}`} />
      <Tabs
        value={tabFor(tab, TABS, options, model)}
        keepMounted={false}
        onChange={(value) => change({ tab: value === 'embeddings' ? value : 'chat', model: '' })}
      >
        <Tabs.List mb="md" aria-label="Kind of model">
          <Tabs.Tab value="chat" leftSection={<IconMessages size={16} />}>
            Chat
          </Tabs.Tab>
          <Tabs.Tab value="embeddings" leftSection={<IconVector size={16} />}>
            Embeddings
          </Tabs.Tab>
        </Tabs.List>
        <Loaded query={models} skeleton={<PanelSkeleton height={360} />} errorTitle="The models could not be loaded">
          {() => (
            <>
              <Tabs.Panel value="chat">
                <ChatTab options={options.chat} />
              </Tabs.Panel>
              <Tabs.Panel value="embeddings">
                <EmbeddingsTab options={options.embedding} />
              </Tabs.Panel>
            </>
          )}
        </Loaded>
      </Tabs>
    </>
  )
}
