import { Button, Checkbox, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Schemas } from '../../api/client'
import { acceptInvitation } from '../../api/members'
import { useReplaceSession } from '../../api/session'
import { paths } from '../../paths'
import { PASSWORD_RULE, PasswordField } from '../../ui/PasswordField'
import { PasswordError } from '../sign-in/PasswordError'

type Props = { token: string; invitation: Schemas['InvitationPreview']; signedInAs: string | undefined }

/** Asks new users to choose a password and existing users to enter theirs, unless they are already signed in. */
export function AcceptForm({ token, invitation, signedInAs }: Props) {
  const router = useRouter()
  const replaceSession = useReplaceSession()
  const accept = useMutation({
    mutationFn: acceptInvitation,
    onSuccess: (session) => {
      replaceSession(session)
      router.history.replace(paths.home())
    },
  })
  const [isNew, setNew] = useState(!invitation.accountExists)
  const isSignedInAsInvited = signedInAs?.toLowerCase() === invitation.email.toLowerCase()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const password = String(new FormData(event.currentTarget).get('password') ?? '')
    if (isSignedInAsInvited) accept.mutate({ token })
    else accept.mutate({ token, password, newAccount: isNew && invitation.accountExists })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {/* Lets password managers know the account of the password. */}
        <input type="hidden" name="username" autoComplete="username" value={invitation.email} readOnly />
        {isSignedInAsInvited ? null : (
          <PasswordField
            name="password"
            label={isNew ? 'Choose a password' : 'Your account password'}
            description={isNew ? PASSWORD_RULE : undefined}
            autoComplete={isNew ? 'new-password' : 'current-password'}
            withAsterisk={false}
            autoFocus
          />
        )}
        {invitation.accountExists && !invitation.accountProven && !isSignedInAsInvited ? (
          <Checkbox
            label="I have no account here yet"
            description="An earlier invitation to this address was accepted. If it was not you, create an account of your own."
            checked={isNew}
            onChange={(event) => setNew(event.currentTarget.checked)}
          />
        ) : null}
        {accept.error ? (
          <PasswordError error={accept.error} title="Could not accept the invitation" typed="The password" />
        ) : null}
        <Button type="submit" loading={accept.isPending}>
          Accept invitation
        </Button>
      </Stack>
    </form>
  )
}
