import { ActionIcon, Button, Group, Text, Textarea, Title, Tooltip } from '@mantine/core'
import { IconMessages, IconPencil } from '@tabler/icons-react'
import { useLayoutEffect, useRef, useState } from 'react'
import type { ChatRequest } from '../../api/inference'
import { AnswerView } from './AnswerView'
import type { Choice } from './choices'
import { type Conversation, isStreaming, requestFor, type Turn } from './conversation'
import classes from './Playground.module.css'

type Props = {
  conversation: Conversation
  choices: Choice[]
  whyNot: string | undefined
  /** The last turn again; in other words, when there are any. */
  onAskAgain: (prompt?: string) => void
  onShowCode: (request: ChatRequest) => void
}

/** How near the end counts as being there: whoever has scrolled up to read is left alone. */
const NEAR_END_PX = 80

export function Thread({ conversation, choices, whyNot, onAskAgain, onShowCode }: Props) {
  const log = useStayAtEnd(conversation)
  const isBusy = isStreaming(conversation)
  const { turns } = conversation
  return (
    <div ref={log} className={classes.log} role="log" aria-label="Conversation" aria-busy={isBusy} tabIndex={0}>
      {turns.length === 0 ? <NothingSaid /> : null}
      {turns.map((turn, index) => {
        const isLast = index === turns.length - 1
        const canRepeat = isLast && !isBusy && !whyNot
        return (
          <article key={turn.id} className={classes.turn} aria-label={`Turn ${index + 1}`}>
            <Prompt turn={turn} onEdit={canRepeat ? onAskAgain : undefined} />
            <div className={classes.answers} data-lanes={turn.answers.length}>
              {turn.answers.map((answer, lane) => (
                <AnswerView
                  // biome-ignore lint/suspicious/noArrayIndexKey: a lane is its index, and both may ask one model.
                  key={lane}
                  answer={answer}
                  choice={choices.find((choice) => choice.id === answer.model)}
                  onRegenerate={canRepeat && lane === 0 ? () => onAskAgain() : undefined}
                  onShowCode={() => onShowCode(requestFor(turns.slice(0, index + 1), lane, answer.model, answer))}
                />
              ))}
            </div>
          </article>
        )
      })}
    </div>
  )
}

function NothingSaid() {
  return (
    <div className={classes.nothing}>
      <IconMessages size={32} aria-hidden />
      <Title order={2}>Ask something</Title>
      <Text c="dimmed">
        Write a message below. Each answer shows its tokens, its cost, and how fast it came; compare puts two models
        side by side.
      </Text>
    </div>
  )
}

function Prompt({ turn, onEdit }: { turn: Turn; onEdit: ((prompt: string) => void) | undefined }) {
  const [edited, setEdited] = useState<string>()
  if (edited !== undefined && onEdit) {
    const send = () => {
      onEdit(edited.trim())
      setEdited(undefined)
    }
    return (
      <div className={classes.editing}>
        <Textarea
          aria-label="Edit message"
          rows={3}
          value={edited}
          autoFocus
          onChange={(event) => setEdited(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setEdited(undefined)
          }}
        />
        <Group gap="xs" justify="flex-end" mt="xs">
          <Button size="xs" variant="default" onClick={() => setEdited(undefined)}>
            Cancel
          </Button>
          <Button size="xs" onClick={send} disabled={!edited.trim()}>
            Send again
          </Button>
        </Group>
      </div>
    )
  }
  return (
    <div className={classes.prompt}>
      {onEdit ? (
        <Tooltip label="Edit message">
          <ActionIcon
            variant="subtle"
            color="gray"
            c="dimmed"
            aria-label="Edit message"
            onClick={() => setEdited(turn.prompt)}
          >
            <IconPencil size={16} />
          </ActionIcon>
        </Tooltip>
      ) : null}
      <div className={classes.bubble}>{turn.prompt}</div>
    </div>
  )
}

/** Follows the text as it comes, as long as the reader is at its end. */
function useStayAtEnd(conversation: Conversation) {
  const log = useRef<HTMLDivElement>(null)
  const turnCount = useRef(0)
  const height = useRef(0)
  useLayoutEffect(() => {
    const box = log.current
    if (!box) return
    const wasAtEnd = height.current - box.scrollTop - box.clientHeight < NEAR_END_PX
    const isNewTurn = conversation.turns.length !== turnCount.current
    if (wasAtEnd || isNewTurn) box.scrollTop = box.scrollHeight
    turnCount.current = conversation.turns.length
    height.current = box.scrollHeight
  }, [conversation])
  return log
}
