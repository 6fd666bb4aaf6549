import { Button, Group, Text } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconBooks, IconCode, IconPlus } from '@tabler/icons-react'
import { useCallback, useState } from 'react'
import type { ChatParameters, ChatRequest } from '../../api/inference'
import { useSessionContext, useWorkspace } from '../../api/session'
import { paths } from '../../paths'
import { EmptyState } from '../../ui/EmptyState'
import { Link } from '../../ui/Link'
import { useFilters } from '../../ui/useFilters'
import { blockedReason, suspendedOf } from './blocked-reason'
import { ChatSettings } from './ChatSettings'
import { Composer } from './Composer'
import { ConversationMenu } from './ConversationMenu'
import { type ChatSetup, type Conversation, isStreaming, parametersOf, requestFor, waitingTurn } from './conversation'
import { comparedIn, FILTERS, modelFilters } from './filters'
import { lackingIn } from './lacking'
import { initialModel, type ModelOption } from './model-options'
import classes from './Playground.module.css'
import { ResumeEndpoint } from './ResumeEndpoint'
import { ShowCode } from './ShowCode'
import { storageKey } from './stored-conversations'
import { Thread } from './Thread'
import { useChat } from './useChat'

const RESULTS_FIRST = 'Type the results of the tools above and continue.'

export function ChatTab({ options }: { options: ModelOption[] }) {
  const { session } = useSessionContext()
  const workspace = useWorkspace()
  const [filters, change] = useFilters(FILTERS)
  const onStarted = useCallback((chat: string) => change({ chat }), [change])
  const storage = storageKey(session.user.id, workspace.id)
  const { conversation, send, resend, stop } = useChat(workspace.id, storage, filters.chat, onStarted)
  const [system, setSystem] = useState(conversation.system)
  const [parameters, setParameters] = useState<ChatParameters>({})
  const [lanes, setLanes] = useState<ChatParameters[]>([])
  const [draft, setDraft] = useState('')
  const [images, setImages] = useState<string[]>([])
  const [shownCode, showCode] = useState<ChatRequest>()
  const [isSettingsOpen, setSettingsOpen] = useState(false)

  if (options.length === 0) return <NoChatModels />
  const model = initialModel(options, filters.model || conversation.models[0] || '')
  const models = [model, ...comparedIn(filters.compare)]
  const setup: ChatSetup = { models, system, parameters, lanes }
  const isBusy = isStreaming(conversation)
  const noImages = lackingIn(models, options)('images')
  const blocked = blockedReason(models, options) ?? (images.length > 0 ? noImages : undefined)
  const suspended = suspendedOf(models, options)
  const isWaiting = models.some((_, lane) => waitingTurn(conversation.turns, lane))

  const open = (next: Conversation) => {
    setSystem(next.system)
    change({ chat: next.id, ...modelFilters(next.models) })
  }
  const startNew = () => {
    setSystem('')
    change({ chat: '' })
  }
  /** The request for the typed message, or the last one sent if nothing is typed. */
  const currentRequest = () => {
    const isTyped = draft.trim() !== '' || images.length > 0 || conversation.turns.length === 0
    const prompt = { id: '', prompt: draft.trim() || 'Hello', images, answers: [] }
    const settings = { system, parameters: parametersOf(setup, 0) }
    return requestFor(isTyped ? [...conversation.turns, prompt] : conversation.turns, 0, model, settings)
  }
  return (
    <div className={classes.chat}>
      <aside className={classes.settings} data-open={isSettingsOpen} id="playground-settings" aria-label="Settings">
        <ChatSettings
          options={options}
          setup={setup}
          onModels={(chosen) => {
            // The parameters of a lane that was removed belong to no other.
            if (chosen.length < models.length) setLanes([])
            change(modelFilters(chosen))
          }}
          onSystem={setSystem}
          onParameters={setParameters}
          onLane={(lane, changed) =>
            setLanes(models.map((_, index) => (index === lane ? changed : (lanes[index] ?? {}))))
          }
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
          <Text className={classes.shownModel} size="xs" c="dimmed" truncate>
            {models.join(' and ')}
          </Text>
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
          lanes={models.length}
          onResend={(prompt) => resend(setup, prompt)}
          onContinue={(results, lane) => send({ prompt: '', results, lane }, setup)}
          onShowCode={showCode}
        />
        <Composer
          draft={draft}
          onDraft={setDraft}
          images={images}
          onImages={setImages}
          noImages={noImages}
          isBusy={isBusy}
          blocked={blocked ?? (isWaiting ? RESULTS_FIRST : undefined)}
          remedy={suspended ? <ResumeEndpoint name={suspended} /> : null}
          onSend={(prompt, attached) => send({ prompt, images: attached.length ? attached : undefined }, setup)}
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
      The operator adds models. Dedicated endpoints appear here, too.
    </EmptyState>
  )
}
