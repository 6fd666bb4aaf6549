import { Button, Divider, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isSignedIn, sessionQuery, signInMethodsQuery } from '../../api/session'
import { keepReturn } from '../../app/coming-back'
import { Outside } from '../../app/Outside'
import { safeNext } from '../../paths'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { text } from '../../ui/filters'
import { useFilters } from '../../ui/useFilters'
import { SignInForm } from './SignInForm'

const ADDRESS = { next: text(), error: text() }

/** What single sign-on came back with. */
const RETURNED: Record<string, string> = {
  sign_in_failed: 'The sign-in did not complete. Try again; if it keeps failing, ask whoever runs Forebay.',
  email_not_verified: 'Your provider has not verified your address yet. Verify it there, then sign in again.',
  no_account: 'There is no account for you here. Ask an administrator for an invitation.',
}

export function SignInPage() {
  const router = useRouter()
  const [address] = useFilters(ADDRESS)
  const session = useQuery(sessionQuery)
  const methods = useQuery(signInMethodsQuery)
  const next = safeNext(address.next)
  const isIn = isSignedIn(session.data)

  useEffect(() => {
    if (isIn) router.history.replace(next)
  }, [isIn, next, router])

  const provider = methods.data?.oidc
  return (
    <Outside title="Sign in" description="to your Forebay workspace">
      <Stack gap="md">
        {address.error ? (
          <ErrorPanel title="Not signed in" error={new Error(RETURNED[address.error] ?? RETURNED.sign_in_failed)} />
        ) : null}
        {session.error ? <ErrorPanel error={session.error} onRetry={() => void session.refetch()} /> : null}
        <SignInForm />
        {provider ? (
          <>
            <Divider label="or" />
            <Button component="a" href={provider.url} variant="default" onClick={() => keepReturn(next)}>
              Continue with {provider.name}
            </Button>
          </>
        ) : null}
      </Stack>
    </Outside>
  )
}
