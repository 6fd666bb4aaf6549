import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import type { Schemas } from '../../api/client'
import { acceptInvitation } from '../../api/members'
import { useTakeSession } from '../../api/session'
import { paths } from '../../paths'
import { ErrorPanel } from '../../ui/ErrorPanel'

type Props = { token: string; invitation: Schemas['InvitationPreview']; signedInAs: string | undefined }

/** A new account chooses its password, one that exists gives it, and whoever is signed in with it needs none. */
export function AcceptForm({ token, invitation, signedInAs }: Props) {
  const router = useRouter()
  const take = useTakeSession()
  const accept = useMutation({
    mutationFn: acceptInvitation,
    onSuccess: (session) => {
      take(session)
      router.history.replace(paths.home())
    },
  })
  const isKnown = signedInAs?.toLowerCase() === invitation.email.toLowerCase()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const password = new FormData(event.currentTarget).get('password')
    accept.mutate({ token, password: isKnown ? undefined : String(password ?? '') })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        {/* Password managers want to know whose password it is. */}
        <input type="hidden" name="username" autoComplete="username" value={invitation.email} readOnly />
        {isKnown ? null : (
          <TextInput
            name="password"
            type="password"
            label={invitation.accountExists ? 'Password of your account' : 'Choose a password'}
            autoComplete={invitation.accountExists ? 'current-password' : 'new-password'}
            required
            withAsterisk={false}
            autoFocus
          />
        )}
        {accept.error ? <ErrorPanel title="Not accepted" error={accept.error} /> : null}
        <Button type="submit" loading={accept.isPending}>
          Accept invitation
        </Button>
      </Stack>
    </form>
  )
}
