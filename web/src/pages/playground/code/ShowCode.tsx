import { Modal, SegmentedControl, Stack, Tabs, Text } from '@mantine/core'
import { useState } from 'react'
import { CodeBlock } from '../../../ui/CodeBlock'
import { type CodeSnippet, codeFor } from './snippets'
import { type ChatSurface, droppedMembers, type Request } from './surfaces'

/** The API has the same origin as the console. */
const BASE_URL = `${window.location.origin}/v1`
const SURFACES: { value: ChatSurface; label: string }[] = [
  { value: 'chat', label: 'Chat' },
  { value: 'messages', label: 'Messages' },
  { value: 'responses', label: 'Responses' },
]

type Props = {
  kind: 'chat' | 'embeddings'
  request: ({ model: string } & object) | undefined
  onClose: () => void
}

/** Dialog that shows a request as code; a chat for each API. */
export function ShowCode({ kind, request, onClose }: Props) {
  const [chatSurface, setSurface] = useState<ChatSurface>('chat')
  const [language, setLanguage] = useState('curl')
  const surface = kind === 'chat' ? chatSurface : kind
  const shown: Request | undefined = request && { ...request }
  return (
    <Modal
      opened={!!request}
      onClose={onClose}
      title="Code for this request"
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="sm">
        {kind === 'chat' ? (
          <SegmentedControl
            aria-label="API"
            w="fit-content"
            data={SURFACES}
            value={chatSurface}
            onChange={(value) => setSurface(value as ChatSurface)}
          />
        ) : null}
        {shown ? (
          <Tabs value={language} onChange={(value) => setLanguage(value ?? 'curl')}>
            <Snippets snippets={codeFor(surface, shown, BASE_URL)} />
          </Tabs>
        ) : null}
        <Text size="sm" c="dimmed">
          {shown ? noteOn(droppedMembers(surface, shown)) : null} Set FOREBAY_API_KEY to a key of this workspace.
        </Text>
      </Stack>
    </Modal>
  )
}

function Snippets({ snippets }: { snippets: CodeSnippet[] }) {
  return (
    <>
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
    </>
  )
}

const noteOn = (dropped: string[]) => (dropped.length > 0 ? `This API has no ${dropped.join(' and no ')}. ` : '')
