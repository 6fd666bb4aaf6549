import { Alert, Button, Code, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconRefresh } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { CopyButton } from './CopyButton'
import classes from './ErrorPanel.module.css'
import { withCode } from './with-code'

type ErrorDisplay = { message: string; code?: string; requestId?: string }

/** Message of any thrown value, with its code and request id if it has them. */
export function errorDisplay(error: unknown): ErrorDisplay {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code, requestId } = error as { code?: unknown; requestId?: unknown }
  const text = (value: unknown) => (typeof value === 'string' && value ? value : undefined)
  return { message: error.message, code: text(code), requestId: text(requestId) }
}

type Props = { error: unknown; title?: string; onRetry?: () => void; children?: ReactNode }

/** Error message with its code and a request id to copy. */
export function ErrorPanel({ error, title = 'Something went wrong', onRetry, children }: Props) {
  const { message, code, requestId } = errorDisplay(error)
  return (
    <Alert
      role="alert"
      color="red"
      variant="outline"
      title={title}
      icon={<IconAlertTriangle aria-hidden />}
      classNames={{ body: classes.body, title: classes.title }}
    >
      <Stack gap="xs">
        <Text className={classes.message}>{withCode(message)}</Text>
        {children}
        {code || requestId || onRetry ? (
          <Group gap="md">
            {code ? <Code>{code}</Code> : null}
            {requestId ? (
              <Group gap={4} wrap="nowrap" maw="100%">
                <Text size="sm" c="dimmed" className={classes.label}>
                  Request
                </Text>
                <Code className={classes.id}>{requestId}</Code>
                <CopyButton value={requestId} label="Copy request id" />
              </Group>
            ) : null}
            {onRetry ? (
              <Button variant="default" size="xs" leftSection={<IconRefresh size={14} />} onClick={onRetry}>
                Try again
              </Button>
            ) : null}
          </Group>
        ) : null}
      </Stack>
    </Alert>
  )
}
