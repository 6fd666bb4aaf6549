import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { signIn, useReplaceSession } from '../../api/session'
import { PasswordField } from '../../ui/PasswordField'
import { PasswordError } from './PasswordError'

/** Uncontrolled fields, so that password managers can fill them. */
export function SignInForm() {
  const replaceSession = useReplaceSession()
  const attempt = useMutation({ mutationFn: signIn, onSuccess: replaceSession })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    attempt.mutate({ email: String(fields.get('email') ?? ''), password: String(fields.get('password') ?? '') })
  }
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
        {attempt.error ? (
          <PasswordError error={attempt.error} title="Sign-in failed" typed="The email address or the password" />
        ) : null}
        <Button type="submit" loading={attempt.isPending} mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  )
}
