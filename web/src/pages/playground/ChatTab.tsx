import { Button, Group } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconBooks, IconCode, IconPlus } from '@tabler/icons-react'
import { useCallback, useState } from 'react'
import type { ChatParameters, ChatRequest } from '../../api/inference'
import { usePlace, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { Link } from '../../ui/Link'
import { useFilters } from '../../ui/useFilters'
import { ChatSettings } from './ChatSettings'
import { Composer } from './Composer'
import { ConversationMenu } from './ConversationMenu'
import { type Choice, startingChoice } from './choices'
import { type Conversation, isStreaming, requestFor, type Setup } from './conversation'
import { FILTERS } from './filters'
import { shelfKey } from './kept'
import classes from './Playground.module.css'
import { ShowCode } from './ShowCode'
import { Thread } from './Thread'
import { useChat } from './useChat'
import { whyNotSend } from './why-not'

export function ChatTab({ choices }: { choices: Choice[] }) {
  const { session } = usePlace()
  const workspace = useWorkspace()
  const [filters, change] = useFilters(FILTERS)
  const onNamed = useCallback((chat: string) => change({ chat }), [change])
  const shelf = shelfKey(session.user.id, workspace.id)
  const { conversation, ask, askAgain, stop } = useChat(shelf, filters.chat, onNamed)
  const [system, setSystem] = useState(conversation.system)
  const [parameters, setParameters] = useState<ChatParameters>({})
  const [draft, setDraft] = useState('')
  const [shownCode, showCode] = useState<ChatRequest>()
  const [isSettingsOpen, setSettingsOpen] = useState(false)

  if (choices.length === 0) return <NothingToChatWith />
  const model = startingChoice(choices, filters.model || conversation.models[0] || '')
  const models = filters.compare ? [model, filters.compare] : [model]
  const setup: Setup = { models, system, parameters }
  const isBusy = isStreaming(conversation)
  const whyNot = whyNotSend(models, choices)

  const open = (next: Conversation) => {
    setSystem(next.system)
    change({ chat: next.id, model: next.models[0] ?? '', compare: next.models[1] ?? '' })
  }
  const startNew = () => {
    setSystem('')
    change({ chat: '' })
  }
  /** The request that Enter would send now; when nothing is typed, the last one that was sent. */
  const currentRequest = () => {
    const isTyped = draft.trim() !== '' || conversation.turns.length === 0
    const prompt = { id: '', prompt: draft.trim() || 'Hello', answers: [] }
    return requestFor(isTyped ? [...conversation.turns, prompt] : conversation.turns, 0, model, setup)
  }
  return (
    <div className={classes.chat}>
      <aside className={classes.settings} data-open={isSettingsOpen} id="playground-settings" aria-label="Settings">
        <ChatSettings
          choices={choices}
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
          <ConversationMenu shelf={shelf} current={conversation} onOpen={open} onNew={startNew} />
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
          choices={choices}
          whyNot={whyNot}
          onAskAgain={(prompt) => askAgain(setup, prompt)}
          onShowCode={showCode}
        />
        <Composer
          draft={draft}
          onDraft={setDraft}
          isBusy={isBusy}
          whyNot={whyNot}
          onSend={(prompt) => ask(prompt, setup)}
          onStop={stop}
        />
      </section>
      <ShowCode kind="chat" request={shownCode} onClose={() => showCode(undefined)} />
    </div>
  )
}

function NothingToChatWith() {
  return (
    <EmptyState
      title="There is no chat model yet"
      icon={<IconBooks size={32} />}
      actions={
        <Button component={Link} href={paths.models()} variant="default">
          Open the Model Library
        </Button>
      }
    >
      Whoever runs Forebay adds models to its configuration; a dedicated endpoint that serves appears here, too.
    </EmptyState>
  )
}
