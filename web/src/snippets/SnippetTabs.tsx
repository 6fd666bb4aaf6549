import { Tabs, Text } from '@mantine/core'
import { CodeBlock } from '../ui/CodeBlock'
import type { Snippet } from './snippets'

type Props = { label: string; snippets: readonly Snippet[]; shown: string; onShow: (id: string) => void }

/** Code for several languages or tools, one at a time. */
export function SnippetTabs({ label, snippets, shown, onShow }: Props) {
  return (
    <Tabs value={shown} onChange={(id) => id && onShow(id)}>
      <Tabs.List mb="sm" aria-label={label}>
        {snippets.map(({ id, label }) => (
          <Tabs.Tab key={id} value={id}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ id, label, code, note }) => (
        <Tabs.Panel key={id} value={id}>
          <CodeBlock code={code} label={`Code for ${label}`} />
          {note ? (
            <Text size="sm" c="dimmed" mt="xs">
              {note}
            </Text>
          ) : null}
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
