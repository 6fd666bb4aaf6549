import { Group, Tabs, Text } from '@mantine/core'
import type { Model } from '../../api/models'
import { CodeBlock } from '../../ui/CodeBlock'
import { CopyButton } from '../../ui/CopyButton'
import { text } from '../../ui/filters'
import { Panel } from '../../ui/Panel'
import { useFilters } from '../../ui/useFilters'
import { snippetsFor } from './snippets'

const FILTERS = { code: text() }

/** The API has the same origin as the console. */
const BASE_URL = `${window.location.origin}/v1`

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
      <Tabs value={shown} onChange={(value) => change({ code: value === first ? '' : (value ?? '') })}>
        <Tabs.List mb="sm" aria-label="Language or tool">
          {snippets.map((snippet) => (
            <Tabs.Tab key={snippet.id} value={snippet.id}>
              {snippet.label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map((snippet) => (
          <Tabs.Panel key={snippet.id} value={snippet.id}>
            <CodeBlock code={snippet.code} label={`Code for ${snippet.label}`} />
            {snippet.note ? (
              <Text size="sm" c="dimmed" mt="xs">
                {snippet.note}
              </Text>
            ) : null}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Panel>
  )
}
