import { Modal, Tabs, Text } from '@mantine/core'
import { CodeBlock } from '../../ui/CodeBlock'
import { codeFor } from './code'

/** The API has the same origin as the console. */
const BASE_URL = `${window.location.origin}/v1`

type Props = {
  kind: 'chat' | 'embeddings'
  request: ({ model: string } & object) | undefined
  onClose: () => void
}

/** Dialog that shows a request as code. */
export function ShowCode({ kind, request, onClose }: Props) {
  const snippets = request ? codeFor(kind, { ...request }, BASE_URL) : []
  return (
    <Modal
      opened={!!request}
      onClose={onClose}
      title="Code for this request"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Tabs defaultValue="curl">
        <Tabs.List mb="sm" aria-label="Language">
          {snippets.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ id, label, code }) => (
          <Tabs.Panel key={id} value={id}>
            <CodeBlock code={code} label={`Code for ${label}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <Text size="sm" c="dimmed" mt="sm">
        Set FOREBAY_API_KEY to a key of this workspace.
      </Text>
    </Modal>
  )
}
