import { Text } from '@mantine/core'
import { ApiError } from '../../api/errors'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatDuration } from '../../ui/format'

type Props = {
  error: unknown
  title: string
  /** What may be mistyped, such as "The password". */
  typed: string
}

/** Why a sign-in was rejected. */
export function PasswordError({ error, title, typed }: Props) {
  if (error instanceof ApiError && error.code === 'bad_credentials') {
    return (
      <Text role="alert" size="sm" c="var(--mantine-color-error)">
        {typed} is wrong. If you forgot the password, ask the operator for a new one.
      </Text>
    )
  }
  const wait = error instanceof ApiError ? error.retryAfterSecs : undefined
  return (
    <ErrorPanel title={title} error={error}>
      {wait === undefined ? null : <Text>You can try again in {formatDuration(wait * 1_000)}.</Text>}
    </ErrorPanel>
  )
}
