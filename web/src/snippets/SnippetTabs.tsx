import { Select, Stack, Tabs, Text } from '@mantine/core'
import { CodeBlock } from '../ui/CodeBlock'
import type { Snippet } from './snippets'

type Props = { label: string; snippets: readonly Snippet[]; shown: string; onShow: (id: string) => void }

/** More do not fit into a row. */
const MAX_TABS = 5

/** Code for several languages or tools, one at a time. */
export function SnippetTabs({ label, snippets, shown, onShow }: Props) {
  if (snippets.length > MAX_TABS) {
    const current = snippets.find(({ id }) => id === shown) ?? snippets[0]
    return (
      <Stack gap="sm">
        <Select
          label={label}
          maw={260}
          data={snippets.map(({ id, label }) => ({ value: id, label }))}
          value={current?.id}
          allowDeselect={false}
          onChange={(id) => id && onShow(id)}
        />
        {current ? <SnippetCode snippet={current} /> : null}
      </Stack>
    )
  }
  return (
    <Tabs value={shown} onChange={(id) => id && onShow(id)}>
      <Tabs.List mb="sm" aria-label={label}>
        {snippets.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.id} value={snippet.id}>
          <SnippetCode snippet={snippet} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function SnippetCode({ snippet: { label, code, note } }: { snippet: Snippet }) {
  return (
    <>
      <CodeBlock code={code} label={`Code for ${label}`} />
      {note ? (
        <Text size="sm" c="dimmed" mt="xs">
          {note}
        </Text>
      ) : null}
    </>
  )
}
