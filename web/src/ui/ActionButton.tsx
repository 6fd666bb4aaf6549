import { Button, type ButtonProps, Tooltip, VisuallyHidden } from '@mantine/core'
import { type ReactNode, useId } from 'react'

type Props = ButtonProps & {
  children: string
  /** Why the action is unavailable; shown as tooltip, while the button stays focusable. */
  disabledReason: string | undefined
  onClick: () => void
  leftSection?: ReactNode
}

/** Button that explains why it is disabled. */
export function ActionButton({ disabledReason, onClick, children, ...rest }: Props) {
  const id = useId()
  return (
    <Tooltip label={disabledReason} disabled={!disabledReason} events={{ hover: true, focus: true, touch: true }}>
      <span>
        <Button
          {...rest}
          data-disabled={disabledReason ? true : undefined}
          aria-disabled={disabledReason ? true : undefined}
          aria-describedby={disabledReason ? id : undefined}
          onClick={disabledReason ? undefined : onClick}
        >
          {children}
        </Button>
        {disabledReason ? <VisuallyHidden id={id}>{disabledReason}</VisuallyHidden> : null}
      </span>
    </Tooltip>
  )
}
