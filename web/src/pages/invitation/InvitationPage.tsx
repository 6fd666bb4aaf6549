import { Skeleton, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useRouterState } from '@tanstack/react-router'
import { previewInvitation } from '../../api/members'
import { isSignedIn, sessionQuery } from '../../api/session'
import { Outside } from '../../app/Outside'
import { formatTime } from '../../ui/format'
import { Loaded } from '../../ui/Loaded'
import { AcceptForm } from './AcceptForm'

/** Where the link of an invitation leads; its token follows `#`, so that it is in no log. */
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
      <Outside title="Invitation">
        <Text>This link is not complete. Open the whole link that you were given, with what follows the #.</Text>
      </Outside>
    )
  }
  const email = isSignedIn(session.data) ? session.data.user.email : undefined
  return (
    <Outside title="Invitation" description={preview.data ? `to ${preview.data.organizationName}` : undefined}>
      <Loaded query={preview} skeleton={<Skeleton h={120} />} errorTitle="This invitation cannot be used">
        {(invitation) => (
          <>
            <Text mb="md">
              <strong>{invitation.email}</strong> is invited as{' '}
              {invitation.role === 'admin' ? 'an administrator' : 'a member'}. The link works until{' '}
              {formatTime(invitation.expiresAt)}.
            </Text>
            <AcceptForm token={token} invitation={invitation} signedInAs={email} />
          </>
        )}
      </Loaded>
    </Outside>
  )
}
