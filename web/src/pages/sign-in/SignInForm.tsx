import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { ApiError } from '../../api/errors'
import { signIn, useReplaceSession } from '../../api/session'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatDuration } from '../../ui/format'
import { PasswordField } from '../../ui/PasswordField'

/** Uncontrolled fields, so that password managers can fill them. */
export function SignInForm() {
  const replaceSession = useReplaceSession()
  const attempt = useMutation({ mutationFn: signIn, onSuccess: replaceSession })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    attempt.mutate({ email: String(fields.get('email') ?? ''), password: String(fields.get('password') ?? '') })
  }
  const isMistyped = attempt.error instanceof ApiError && attempt.error.code === 'bad_credentials'
  const wait = attempt.error instanceof ApiError ? attempt.error.retryAfterSecs : undefined
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          name="email"
          type="email"
          label="Email"
          autoComplete="username"
          required
          withAsterisk={false}
          autoFocus
        />
        <PasswordField name="password" label="Password" autoComplete="current-password" withAsterisk={false} />
        {isMistyped ? (
          <Text role="alert" size="sm" c="var(--mantine-color-error)">
            The email address or the password is wrong. If you forgot the password, ask the operator for a new one.
          </Text>
        ) : attempt.error ? (
          <ErrorPanel title="Sign-in failed" error={attempt.error}>
            {wait === undefined ? null : <Text>You can try again in {formatDuration(wait * 1_000)}.</Text>}
          </ErrorPanel>
        ) : null}
        <Button type="submit" loading={attempt.isPending} mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  )
}
