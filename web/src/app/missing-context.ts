import type { SessionContext } from '../api/session'

/** The part of the context that must be selected before a page can be shown. */
export function missingContext(needs: 'workspace' | 'organization' | undefined, context: SessionContext): typeof needs {
  if (needs && !context.organization) return 'organization'
  return needs === 'workspace' && !context.workspace ? 'workspace' : undefined
}
