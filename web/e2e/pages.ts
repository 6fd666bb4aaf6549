/** Every page, for tests that apply to all of them. Add new pages here. */

export const PAGES = [
  { name: 'model-library', path: '/models', title: 'Model Library' },
  { name: 'model-library-table', path: '/models?view=table&sort=-context', title: 'Model Library' },
  { name: 'model', path: '/models/forebay/smollm2-135m-instruct?code=python', title: 'SmolLM2 135M Instruct' },
  { name: 'playground', path: '/playground', title: 'Playground' },
  { name: 'playground-embeddings', path: '/playground?tab=embeddings', title: 'Playground' },
  { name: 'keys', path: '/keys', title: 'API keys' },
  { name: 'endpoints', path: '/endpoints', title: 'Endpoints' },
  { name: 'new-endpoint', path: '/endpoints/new', title: 'New endpoint' },
  { name: 'costs', path: '/costs', title: 'Costs' },
  { name: 'observability', path: '/observability', title: 'Observability' },
  { name: 'requests', path: '/observability?tab=requests', title: 'Observability' },
  { name: 'members', path: '/members', title: 'Members' },
  { name: 'invitations', path: '/members?tab=invitations', title: 'Members' },
  { name: 'audit', path: '/audit', title: 'Audit log' },
  { name: 'settings', path: '/settings', title: 'Settings' },
  { name: 'workspaces', path: '/settings?tab=workspaces', title: 'Settings' },
  { name: 'sessions', path: '/settings?tab=account', title: 'Settings' },
  { name: 'help', path: '/help/costs', title: 'Usage and costs' },
  { name: 'operator', path: '/operator', title: 'Overview' },
  { name: 'operator-models', path: '/operator/models', title: 'Models' },
  { name: 'operator-add-model', path: '/operator/models/new', title: 'Add model' },
  { name: 'operator-run-model', path: '/operator/models/new?how=run', title: 'Add model' },
  { name: 'operator-offer-flavor', path: '/operator/models/new?how=dedicated', title: 'Add model' },
  {
    name: 'operator-model',
    path: '/operator/models/forebay/smollm2-135m-instruct',
    title: 'SmolLM2 135M Instruct',
  },
  { name: 'operator-health', path: '/operator/health', title: 'Nodes and health' },
  { name: 'operator-organizations', path: '/operator/organizations', title: 'Organizations' },
  { name: 'operator-users', path: '/operator/users', title: 'Users' },
] as const

/** Pages that need no session. */
export const SIGNED_OUT_PAGES = [
  { name: 'sign-in', path: '/sign-in', title: 'Sign in' },
  { name: 'incomplete-invitation', path: '/invitation', title: 'Invitation' },
] as const
