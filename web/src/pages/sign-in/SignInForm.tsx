import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { ApiError } from '../../api/errors'
import { signIn, useReplaceSession } from '../../api/session'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { formatDuration } from '../../ui/format'

/** Uncontrolled fields, so that password managers can fill them. */
export function SignInForm() {
  const replaceSession = useReplaceSession()
  const attempt = useMutation({ mutationFn: signIn, onSuccess: replaceSession })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    attempt.mutate({ email: String(fields.get('email') ?? ''), password: String(fields.get('password') ?? '') })
  }
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
        <TextInput
          name="password"
          type="password"
          label="Password"
          autoComplete="current-password"
          required
          withAsterisk={false}
        />
        {attempt.error ? (
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
