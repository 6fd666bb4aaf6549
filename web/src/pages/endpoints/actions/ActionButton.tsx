import { Button, type ButtonProps, Tooltip, VisuallyHidden } from '@mantine/core'
import { type ReactNode, useId } from 'react'

type Props = ButtonProps & {
  children: string
  /** Why it cannot be done now; it is told, and the button can still be reached. */
  because: string | undefined
  onClick: () => void
  leftSection?: ReactNode
}

/** A button that says why it does nothing. */
export function ActionButton({ because, onClick, children, ...rest }: Props) {
  const id = useId()
  return (
    <Tooltip label={because} disabled={!because} events={{ hover: true, focus: true, touch: true }}>
      <span>
        <Button
          {...rest}
          data-disabled={because ? true : undefined}
          aria-disabled={because ? true : undefined}
          aria-describedby={because ? id : undefined}
          onClick={because ? undefined : onClick}
        >
          {children}
        </Button>
        {because ? <VisuallyHidden id={id}>{because}</VisuallyHidden> : null}
      </span>
    </Tooltip>
  )
}
