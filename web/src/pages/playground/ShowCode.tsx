import { Modal, SegmentedControl, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { SnippetTabs } from '../../snippets/SnippetTabs'
import { BASE_URL, codeFor } from '../../snippets/snippets'
import { type ChatSurface, droppedMembers, isPlainChat, type Request } from '../../snippets/surfaces'

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
  const isPlain = kind === 'chat' && !!request && isPlainChat({ ...request })
  const surface = kind === 'chat' ? (isPlain ? chatSurface : 'chat') : kind
  const shown: Request | undefined = request && { ...request }
  return (
    <Modal opened={!!request} onClose={onClose} title="Code for this request" size="xl">
      <Stack gap="sm">
        {isPlain ? (
          <SegmentedControl
            aria-label="API"
            w="fit-content"
            data={SURFACES}
            value={chatSurface}
            onChange={(value) => setSurface(value as ChatSurface)}
          />
        ) : null}
        {shown ? (
          <SnippetTabs
            label="Language"
            snippets={codeFor(surface, shown, BASE_URL)}
            shown={language}
            onShow={setLanguage}
          />
        ) : null}
        <Text size="sm" c="dimmed">
          {shown ? noteOn(droppedMembers(surface, shown)) : null} Set FOREBAY_API_KEY to a key of this workspace.
        </Text>
      </Stack>
    </Modal>
  )
}

const noteOn = (dropped: string[]) => (dropped.length > 0 ? `This API has no ${dropped.join(' and no ')}. ` : '')
