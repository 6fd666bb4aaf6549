import { Button, Group } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconBooks, IconCode, IconPlus } from '@tabler/icons-react'
import { useCallback, useState } from 'react'
import type { ChatParameters, ChatRequest } from '../../api/inference'
import { useSessionContext, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { Link } from '../../ui/Link'
import { useFilters } from '../../ui/useFilters'
import { blockedReason } from './blocked-reason'
import { ChatSettings } from './ChatSettings'
import { Composer } from './Composer'
import { ConversationMenu } from './ConversationMenu'
import { type ChatSetup, type Conversation, isStreaming, requestFor } from './conversation'
import { FILTERS } from './filters'
import { initialModel, type ModelOption } from './model-options'
import classes from './Playground.module.css'
import { ShowCode } from './ShowCode'
import { storageKey } from './stored-conversations'
import { Thread } from './Thread'
import { useChat } from './useChat'

export function ChatTab({ options }: { options: ModelOption[] }) {
  const { session } = useSessionContext()
  const workspace = useWorkspace()
  const [filters, change] = useFilters(FILTERS)
  const onStarted = useCallback((chat: string) => change({ chat }), [change])
  const storage = storageKey(session.user.id, workspace.id)
  const { conversation, send, resend, stop } = useChat(storage, filters.chat, onStarted)
  const [system, setSystem] = useState(conversation.system)
  const [parameters, setParameters] = useState<ChatParameters>({})
  const [draft, setDraft] = useState('')
  const [shownCode, showCode] = useState<ChatRequest>()
  const [isSettingsOpen, setSettingsOpen] = useState(false)

  if (options.length === 0) return <NoChatModels />
  const model = initialModel(options, filters.model || conversation.models[0] || '')
  const models = filters.compare ? [model, filters.compare] : [model]
  const setup: ChatSetup = { models, system, parameters }
  const isBusy = isStreaming(conversation)
  const blocked = blockedReason(models, options)

  const open = (next: Conversation) => {
    setSystem(next.system)
    change({ chat: next.id, model: next.models[0] ?? '', compare: next.models[1] ?? '' })
  }
  const startNew = () => {
    setSystem('')
    change({ chat: '' })
  }
  /** The request for the typed message, or the last one sent if nothing is typed. */
  const currentRequest = () => {
    const isTyped = draft.trim() !== '' || conversation.turns.length === 0
    const prompt = { id: '', prompt: draft.trim() || 'Hello', answers: [] }
    return requestFor(isTyped ? [...conversation.turns, prompt] : conversation.turns, 0, model, setup)
  }
  return (
    <div className={classes.chat}>
      <aside className={classes.settings} data-open={isSettingsOpen} id="playground-settings" aria-label="Settings">
        <ChatSettings
          options={options}
          setup={setup}
          onModels={([first = '', second = '']) => change({ model: first, compare: second })}
          onSystem={setSystem}
          onParameters={setParameters}
        />
      </aside>
      <section className={classes.panel} aria-label="Chat">
        <Group className={classes.bar} gap="xs">
          <Button
            className={classes.settingsButton}
            variant="default"
            size="xs"
            aria-expanded={isSettingsOpen}
            aria-controls="playground-settings"
            leftSection={<IconAdjustmentsHorizontal size={14} />}
            onClick={() => setSettingsOpen(!isSettingsOpen)}
          >
            Settings
          </Button>
          <ConversationMenu storage={storage} current={conversation} onOpen={open} onNew={startNew} />
          <Group gap="xs" ms="auto">
            <Button
              variant="default"
              size="xs"
              leftSection={<IconCode size={14} />}
              onClick={() => showCode(currentRequest())}
            >
              Show code
            </Button>
            <Button
              variant="default"
              size="xs"
              leftSection={<IconPlus size={14} />}
              onClick={startNew}
              disabled={conversation.turns.length === 0}
            >
              New chat
            </Button>
          </Group>
        </Group>
        <Thread
          conversation={conversation}
          options={options}
          blocked={blocked}
          onResend={(prompt) => resend(setup, prompt)}
          onShowCode={showCode}
        />
        <Composer
          draft={draft}
          onDraft={setDraft}
          isBusy={isBusy}
          blocked={blocked}
          onSend={(prompt) => send(prompt, setup)}
          onStop={stop}
        />
      </section>
      <ShowCode kind="chat" request={shownCode} onClose={() => showCode(undefined)} />
    </div>
  )
}

function NoChatModels() {
  return (
    <EmptyState
      title="No chat models yet"
      icon={<IconBooks size={32} />}
      actions={
        <Button component={Link} href={paths.models()} variant="default">
          Open the Model Library
        </Button>
      }
    >
      The operator adds models. Serving dedicated endpoints appear here, too.
    </EmptyState>
  )
}
