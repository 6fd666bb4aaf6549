import { Group } from '@mantine/core'
import type { Model } from '../../api/models'
import { snippetsFor } from '../../snippets/model-snippets'
import { SnippetTabs } from '../../snippets/SnippetTabs'
import { BASE_URL } from '../../snippets/snippets'
import { CopyButton } from '../../ui/CopyButton'
import { text } from '../../ui/filters'
import { Panel } from '../../ui/Panel'
import { useFilters } from '../../ui/useFilters'

const FILTERS = { code: text() }

export function ModelCode({ model }: { model: Model }) {
  const [{ code }, change] = useFilters(FILTERS)
  const snippets = snippetsFor({ baseUrl: BASE_URL, model: model.id, modality: model.modality })
  const first = snippets[0]?.id ?? ''
  const shown = snippets.some((snippet) => snippet.id === code) ? code : first
  return (
    <Panel
      title="Use this model"
      description={
        <Group gap={4} component="span">
          Base URL <code>{BASE_URL}</code>
          <CopyButton value={BASE_URL} label="Copy base URL" />
        </Group>
      }
    >
      <SnippetTabs
        label="Language or tool"
        snippets={snippets}
        shown={shown}
        onShow={(id) => change({ code: id === first ? '' : id })}
      />
    </Panel>
  )
}
