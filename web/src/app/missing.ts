import type { Place } from '../api/session'

/** What has to be chosen before a page can be of use. */
export function missingFor(needs: 'workspace' | 'organization' | undefined, place: Place): typeof needs {
  if (needs && !place.organization) return 'organization'
  return needs === 'workspace' && !place.workspace ? 'workspace' : undefined
}
