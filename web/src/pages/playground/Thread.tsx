import { ActionIcon, Button, Group, Text, Textarea, Title, Tooltip } from '@mantine/core'
import { IconMessages, IconPencil } from '@tabler/icons-react'
import { useLayoutEffect, useRef, useState } from 'react'
import type { ChatRequest } from '../../api/inference'
import {
  type Conversation,
  isOfLane,
  isStreaming,
  requestFor,
  type ToolResult,
  type Turn,
  waitingTurn,
} from './conversation'
import type { ModelOption } from './model-options'
import classes from './Playground.module.css'
import { ResponseView } from './ResponseView'
import { Thumbnail } from './Thumbnail'

type Props = {
  conversation: Conversation
  options: ModelOption[]
  blocked: string | undefined
  /** The number of models that are chosen. */
  lanes: number
  /** Sends the last turn again, with a new prompt if given. */
  onResend: (prompt?: string) => void
  /** Sends the results of tools, to one lane if there are several. */
  onContinue: (results: ToolResult[], lane: number | undefined) => void
  onShowCode: (request: ChatRequest) => void
}

/** Distance from the end that still counts as the end; further up, the view does not scroll by itself. */
const NEAR_END_PX = 80

export function Thread({ conversation, options, blocked, lanes, onResend, onContinue, onShowCode }: Props) {
  const log = useFollowEnd(conversation)
  const isBusy = isStreaming(conversation)
  const { turns } = conversation
  return (
    <div ref={log} className={classes.log} role="log" aria-label="Conversation" aria-busy={isBusy} tabIndex={0}>
      {turns.length === 0 ? <EmptyThread /> : null}
      {turns.map((turn, index) => {
        const isLast = index === turns.length - 1
        const only = turn.lane ?? 0
        const canRepeat = isLast && !isBusy && !blocked && only < lanes && !turn.lostImages
        const isCompared = turn.answers.length > 1
        const canContinue = (lane: number) =>
          !isBusy && !blocked && lane < lanes && waitingTurn(turns, lane)?.id === turn.id
        return (
          <article key={turn.id} className={classes.turn} aria-label={`Turn ${index + 1}`}>
            <Prompt turn={turn} onEdit={canRepeat && !turn.results ? onResend : undefined} />
            <div className={classes.answers} data-lanes={turn.lane === undefined ? turn.answers.length : 1}>
              {turn.answers.map((answer, lane) =>
                isOfLane(turn, lane) ? (
                  <ResponseView
                    // biome-ignore lint/suspicious/noArrayIndexKey: a lane is identified by its index; both may use the same model.
                    key={lane}
                    answer={answer}
                    lane={isCompared ? lane + 1 : undefined}
                    option={options.find((option) => option.id === answer.model)}
                    onContinue={
                      canContinue(lane) ? (results) => onContinue(results, isCompared ? lane : undefined) : undefined
                    }
                    onRegenerate={canRepeat && lane === only ? () => onResend() : undefined}
                    onShowCode={() => onShowCode(requestFor(turns.slice(0, index + 1), lane, answer.model, answer))}
                  />
                ) : null,
              )}
            </div>
          </article>
        )
      })}
    </div>
  )
}

function EmptyThread() {
  return (
    <div className={classes.empty}>
      <IconMessages size={32} aria-hidden />
      <Title order={2}>Ask something</Title>
      <Text c="dimmed">
        Write a message below. Each response shows its tokens, cost and speed. You can compare up to four models side by
        side.
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
      <div className={classes.bubble}>
        {turn.results?.map(({ id, name, content }) => (
          <div key={id}>
            <Text span size="xs" c="dimmed">
              Result of {name}
            </Text>
            <div>{content}</div>
          </div>
        ))}
        {turn.images?.map((url, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be attached twice.
          <Thumbnail key={index} url={url} name={`Image ${index + 1}`} />
        ))}
        {turn.lostImages ? (
          <Text size="xs" c="dimmed">
            {turn.lostImages === 1 ? '1 image, not kept' : `${turn.lostImages} images, not kept`}
          </Text>
        ) : null}
        {turn.prompt}
      </div>
    </div>
  )
}

/** Keeps the end in view while text arrives, unless the user has scrolled up. */
function useFollowEnd(conversation: Conversation) {
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
