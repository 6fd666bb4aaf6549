import { Anchor, Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { toApiError } from '../../api/errors'
import { previewInvitation } from '../../api/members'
import { isSignedIn, sessionQuery } from '../../api/session'
import { SignedOutLayout } from '../../app/SignedOutLayout'
import { paths } from '../../paths'
import { formatTime } from '../../ui/format'
import { Link } from '../../ui/Link'
import { Loaded } from '../../ui/Loaded'
import { AcceptForm } from './AcceptForm'

/** Target of invitation links. The token is in the fragment, so that it never reaches a server log. */
export function InvitationPage() {
  const token = useRouterState({ select: (state) => state.location.hash }).replace(/^#/, '')
  const session = useQuery(sessionQuery)
  const preview = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => previewInvitation(token),
    enabled: token !== '',
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!token) {
    return (
      <SignedOutLayout title="Invitation">
        <Text>This link is incomplete. Open the full link you were given, including the part after the #.</Text>
      </SignedOutLayout>
    )
  }
  if (preview.error && toApiError(preview.error).status === 404) {
    return (
      <SignedOutLayout title="Invitation">
        <Text role="alert">
          This invitation cannot be used: the link was used, withdrawn or has expired. Ask for a new one, or{' '}
          <Anchor component={Link} href={paths.signIn()} underline="always">
            sign in
          </Anchor>{' '}
          if you have accepted it.
        </Text>
      </SignedOutLayout>
    )
  }
  const email = isSignedIn(session.data) ? session.data.user.email : undefined
  return (
    <SignedOutLayout title="Invitation" description={preview.data ? `to ${preview.data.organizationName}` : undefined}>
      <Loaded query={preview} skeleton={<Skeleton h={120} />} errorTitle="This invitation cannot be used">
        {(invitation) => (
          <>
            <Text mb="md">
              <strong>{invitation.email}</strong> is invited as{' '}
              {invitation.role === 'admin' ? 'an administrator' : 'a member'}. The link expires on{' '}
              {formatTime(invitation.expiresAt)}.
            </Text>
            <AcceptForm token={token} invitation={invitation} signedInAs={email} />
          </>
        )}
      </Loaded>
    </SignedOutLayout>
  )
}
