import { Button, Divider, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { isSignedIn, sessionQuery, signInMethodsQuery } from '../../api/session'
import { saveReturnPath } from '../../app/return-path'
import { SignedOutLayout } from '../../app/SignedOutLayout'
import { safeNext } from '../../paths'
import { ErrorPanel } from '../../ui/ErrorPanel'
import { text } from '../../ui/filters'
import { useFilters } from '../../ui/useFilters'
import { SignInForm } from './SignInForm'

const PARAMETERS = { next: text(), error: text() }

/** Messages for errors of single sign-on. */
const OIDC_ERRORS: Record<string, string> = {
  sign_in_failed: 'The sign-in did not complete. Try again; if it keeps failing, ask the operator.',
  email_not_verified: 'Your provider has not verified your email address. Verify it there, then sign in again.',
  no_account: 'You do not have an account here. Ask an administrator for an invitation.',
}

export function SignInPage() {
  const router = useRouter()
  const [parameters] = useFilters(PARAMETERS)
  const session = useQuery(sessionQuery)
  const methods = useQuery(signInMethodsQuery)
  const next = safeNext(parameters.next)
  const isIn = isSignedIn(session.data)

  useEffect(() => {
    if (isIn) router.history.replace(next)
  }, [isIn, next, router])

  const provider = methods.data?.oidc
  return (
    <SignedOutLayout title="Sign in" description="to your Forebay workspace">
      <Stack gap="md">
        {parameters.error ? (
          <ErrorPanel
            title="Sign-in failed"
            error={new Error(OIDC_ERRORS[parameters.error] ?? OIDC_ERRORS.sign_in_failed)}
          />
        ) : null}
        {session.error ? <ErrorPanel error={session.error} onRetry={() => void session.refetch()} /> : null}
        <SignInForm />
        {provider ? (
          <>
            <Divider label="or" />
            <Button component="a" href={provider.url} variant="default" onClick={() => saveReturnPath(next)}>
              Continue with {provider.name}
            </Button>
          </>
        ) : null}
      </Stack>
    </SignedOutLayout>
  )
}
