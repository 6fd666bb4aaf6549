import { ActionIcon } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { blobOf } from './images'
import classes from './Playground.module.css'

const SIZE = 96

type Props = { url: string; name: string; onRemove?: () => void }

/** A small picture of an image. It is drawn, because the pages of the console may only load images of the gateway. */
export function Thumbnail({ url, name, onRemove }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    let isGone = false
    createImageBitmap(blobOf(url))
      .then((bitmap) => {
        const box = canvas.current
        if (isGone || !box) return
        const scale = Math.min(1, SIZE / Math.max(bitmap.width, bitmap.height))
        box.width = Math.max(1, Math.round(bitmap.width * scale))
        box.height = Math.max(1, Math.round(bitmap.height * scale))
        box.getContext('2d')?.drawImage(bitmap, 0, 0, box.width, box.height)
      })
      .catch(() => {
        // A damaged image stays an empty box; the model rejects it.
      })
    return () => {
      isGone = true
    }
  }, [url])
  return (
    <span className={classes.thumbnail}>
      <canvas ref={canvas} role="img" aria-label={name} width={SIZE} height={SIZE} />
      {onRemove ? (
        <ActionIcon size="xs" variant="default" aria-label={`Remove ${name.toLowerCase()}`} onClick={onRemove}>
          <IconX size={12} />
        </ActionIcon>
      ) : null}
    </span>
  )
}
