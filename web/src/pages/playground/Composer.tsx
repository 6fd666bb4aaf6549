import { ActionIcon, Button, FileButton, Text, Tooltip } from '@mantine/core'
import { IconArrowUp, IconPhotoPlus, IconPlayerStopFilled } from '@tabler/icons-react'
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { readImages } from './images'
import classes from './Playground.module.css'
import { Thumbnail } from './Thumbnail'

type Props = {
  draft: string
  onDraft: (draft: string) => void
  /** Attached images, as data URLs. */
  images: string[]
  onImages: (images: string[]) => void
  /** Why no images can be attached. */
  noImages?: string
  isBusy: boolean
  blocked: string | undefined
  /** A button that ends what blocks. */
  remedy?: ReactNode
  onSend: (prompt: string, images: string[]) => void
  onStop: () => void
}

/** Message box: Enter sends, Shift+Enter adds a line break. It is the last text field of the page. */
export function Composer({
  draft,
  onDraft,
  images,
  onImages,
  noImages,
  isBusy,
  blocked,
  remedy,
  onSend,
  onStop,
}: Props) {
  const box = useRef<HTMLTextAreaElement>(null)
  const hintId = useId()
  const [problem, setProblem] = useState<string>()
  const isEmpty = !draft.trim() && images.length === 0
  // Not on a phone, where the keyboard would cover the page.
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) box.current?.focus({ preventScroll: true })
  }, [])
  const send = () => {
    const prompt = draft.trim()
    if (isEmpty || isBusy || blocked) return
    onSend(prompt, images)
    onDraft('')
    onImages([])
  }
  const attach = async (files: readonly File[]) => {
    const read = await readImages(files, images.length)
    setProblem(read.problem)
    onImages([...images, ...read.images])
  }
  const onPaste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files]
    if (files.length === 0) return
    event.preventDefault()
    if (noImages) setProblem(noImages)
    else void attach(files)
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
      {images.length > 0 ? (
        <div className={classes.attached}>
          {images.map((url, index) => (
            <Thumbnail
              // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be attached twice.
              key={index}
              url={url}
              name={`Image ${index + 1}`}
              onRemove={() => onImages(images.filter((_, at) => at !== index))}
            />
          ))}
        </div>
      ) : null}
      <FileButton multiple accept="image/*" disabled={!!noImages} onChange={(files) => void attach(files)}>
        {({ onClick }) => (
          <Tooltip label={noImages ?? 'Attach images, for models that read them; or paste them'}>
            <ActionIcon
              onClick={noImages ? undefined : onClick}
              data-disabled={noImages ? true : undefined}
              aria-disabled={!!noImages}
              variant="default"
              size={36}
              aria-label="Attach images"
            >
              <IconPhotoPlus size={18} />
            </ActionIcon>
          </Tooltip>
        )}
      </FileButton>
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
        onPaste={onPaste}
      />
      {isBusy ? (
        <Button color="red.8" leftSection={<IconPlayerStopFilled size={14} />} onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button leftSection={<IconArrowUp size={16} />} onClick={send} disabled={isEmpty || !!blocked} title={blocked}>
          Send
        </Button>
      )}
      <Text id={hintId} size="xs" c={(blocked ?? problem) ? 'var(--fb-warn)' : 'dimmed'} className={classes.hint}>
        {blocked ?? problem ?? 'Enter to send, Shift+Enter for a new line'} {remedy}
      </Text>
    </div>
  )
}
