import { Button, Text } from '@mantine/core'
import { IconArrowUp, IconPlayerStopFilled } from '@tabler/icons-react'
import { type KeyboardEvent, useId, useRef } from 'react'
import classes from './Playground.module.css'

type Props = {
  draft: string
  onDraft: (draft: string) => void
  isBusy: boolean
  blocked: string | undefined
  onSend: (prompt: string) => void
  onStop: () => void
}

/** Message box: Enter sends, Shift+Enter adds a line break. It is the last text field of the page. */
export function Composer({ draft, onDraft, isBusy, blocked, onSend, onStop }: Props) {
  const box = useRef<HTMLTextAreaElement>(null)
  const hintId = useId()
  const send = () => {
    const prompt = draft.trim()
    if (!prompt || isBusy || blocked) return
    onSend(prompt)
    onDraft('')
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter also confirms a character in an input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  const stop = () => {
    onStop()
    box.current?.focus()
  }
  return (
    <div className={classes.composer}>
      <textarea
        ref={box}
        className={classes.box}
        aria-label="Message"
        aria-describedby={hintId}
        placeholder="Write a message"
        rows={1}
        value={draft}
        onChange={(event) => onDraft(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <Button color="red.8" leftSection={<IconPlayerStopFilled size={14} />} onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button
          leftSection={<IconArrowUp size={16} />}
          onClick={send}
          disabled={!draft.trim() || !!blocked}
          title={blocked}
        >
          Send
        </Button>
      )}
      <Text id={hintId} size="xs" c={blocked ? 'var(--fb-warn)' : 'dimmed'} className={classes.hint}>
        {blocked ?? 'Enter to send, Shift+Enter for a new line'}
      </Text>
    </div>
  )
}
