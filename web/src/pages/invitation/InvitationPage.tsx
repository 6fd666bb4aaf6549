import { Outside } from '../../app/Outside'

/** Where the link of an invitation leads; its token follows `#`. */
export function InvitationPage() {
  return <Outside title="Invitation">{null}</Outside>
}
