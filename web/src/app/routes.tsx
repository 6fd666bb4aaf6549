/** Every page: its path, the context it needs, and the module loaded when it is first opened. */

import {
  createRootRoute,
  createRoute,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  redirect,
  type StaticDataRouteOption,
} from '@tanstack/react-router'
import { queryClient } from '../api/query-client'
import { isSignedIn, sessionQuery } from '../api/session'
import { paths } from '../paths'
import { ShellSkeleton } from '../ui/Skeletons'
import { loadPage } from './load-page'
import { PageError, RouteError } from './RouteError'
import { takeReturnPath } from './return-path'
import { Shell } from './Shell'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** Context that must be selected before the page is shown, so that it sends no request that would be rejected. */
    needs?: 'workspace' | 'organization'
    /** Heading shown while the context is missing. */
    title?: string
  }
}

const root = createRootRoute({ component: Outlet, errorComponent: RouteError })

/** A page whose module is loaded when it is first opened. */
const lazyPage = <Name extends string>(load: () => Promise<Record<Name, RouteComponent>>, name: Name) =>
  lazyRouteComponent(() => loadPage(load), name)

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyPage(() => import('../pages/sign-in/SignInPage'), 'SignInPage'),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyPage(() => import('../pages/invitation/InvitationPage'), 'InvitationPage'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  pendingComponent: ShellSkeleton,
  errorComponent: RouteError,
  beforeLoad: async ({ location }) => {
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (!isSignedIn(session)) throw redirect({ href: paths.signIn(location.href) })
  },
})

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    const session = queryClient.getQueryData(sessionQuery.queryKey)
    const isOperator = isSignedIn(session) && session.user.operator
    throw redirect({ href: takeReturnPath() ?? (isOperator ? paths.operator() : paths.models()) })
  },
})

/** A page inside the shell. */
const page = <const Path extends string>(
  path: Path,
  component: RouteComponent,
  staticData: StaticDataRouteOption = {},
) => createRoute({ getParentRoute: () => shell, path, component, errorComponent: PageError, staticData })

const inWorkspace = (title: string) => ({ needs: 'workspace', title }) as const
const inOrganization = (title: string) => ({ needs: 'organization', title }) as const

const pages = [
  page(
    '/models',
    lazyPage(() => import('../pages/models/ModelsPage'), 'ModelsPage'),
    inWorkspace('Model Library'),
  ),
  page(
    '/models/$provider/$',
    lazyPage(() => import('../pages/models/ModelPage'), 'ModelPage'),
    inWorkspace('Model'),
  ),
  page(
    '/playground',
    lazyPage(() => import('../pages/playground/PlaygroundPage'), 'PlaygroundPage'),
    inWorkspace('Playground'),
  ),
  page(
    '/keys',
    lazyPage(() => import('../pages/keys/KeysPage'), 'KeysPage'),
    inWorkspace('API keys'),
  ),
  page(
    '/keys/$keyId',
    lazyPage(() => import('../pages/keys/KeyPage'), 'KeyPage'),
    inWorkspace('API key'),
  ),
  page(
    '/endpoints',
    lazyPage(() => import('../pages/endpoints/EndpointsPage'), 'EndpointsPage'),
    inWorkspace('Endpoints'),
  ),
  page(
    '/endpoints/new',
    lazyPage(() => import('../pages/endpoints/NewEndpointPage'), 'NewEndpointPage'),
    inWorkspace('New endpoint'),
  ),
  page(
    '/endpoints/$name',
    lazyPage(() => import('../pages/endpoints/EndpointPage'), 'EndpointPage'),
    inWorkspace('Endpoint'),
  ),
  page(
    '/batches',
    lazyPage(() => import('../pages/batches/BatchesPage'), 'BatchesPage'),
    inWorkspace('Batches'),
  ),
  page(
    '/batches/$id',
    lazyPage(() => import('../pages/batches/BatchPage'), 'BatchPage'),
    inWorkspace('Batch'),
  ),
  page(
    '/costs',
    lazyPage(() => import('../pages/costs/CostsPage'), 'CostsPage'),
    inWorkspace('Costs'),
  ),
  page(
    '/observability',
    lazyPage(() => import('../pages/observability/ObservabilityPage'), 'ObservabilityPage'),
    inWorkspace('Observability'),
  ),
  page(
    '/members',
    lazyPage(() => import('../pages/members/MembersPage'), 'MembersPage'),
    inOrganization('Members'),
  ),
  page(
    '/audit',
    lazyPage(() => import('../pages/audit/AuditPage'), 'AuditPage'),
    inOrganization('Audit log'),
  ),
  // The account tab works without a workspace; the workspace tab handles a missing one itself.
  page(
    '/settings',
    lazyPage(() => import('../pages/settings/SettingsPage'), 'SettingsPage'),
  ),
  // Pages of the operator concern the whole installation and need no context.
  page(
    '/operator',
    lazyPage(() => import('../pages/operator/overview/OverviewPage'), 'OverviewPage'),
  ),
  page(
    '/operator/models',
    lazyPage(() => import('../pages/operator/models/OperatorModelsPage'), 'OperatorModelsPage'),
  ),
  page(
    '/operator/models/new',
    lazyPage(() => import('../pages/operator/models/add/AddModelPage'), 'AddModelPage'),
  ),
  page(
    '/operator/models/$provider/$',
    lazyPage(() => import('../pages/operator/models/OperatorModelPage'), 'OperatorModelPage'),
  ),
  page(
    '/operator/health',
    lazyPage(() => import('../pages/operator/nodes/HealthPage'), 'HealthPage'),
  ),
  page(
    '/operator/organizations',
    lazyPage(() => import('../pages/operator/organizations/OrganizationsPage'), 'OrganizationsPage'),
  ),
  page(
    '/operator/organizations/$id',
    lazyPage(() => import('../pages/operator/organizations/OrganizationPage'), 'OrganizationPage'),
  ),
  page(
    '/operator/users',
    lazyPage(() => import('../pages/operator/people/UsersPage'), 'UsersPage'),
  ),
  page(
    '/help',
    lazyPage(() => import('../pages/help/HelpPage'), 'HelpPage'),
  ),
  page(
    '/help/api/reference',
    lazyPage(() => import('../pages/help/ReferencePage'), 'ReferencePage'),
  ),
  page(
    '/help/api/reference/$',
    lazyPage(() => import('../pages/help/ReferencePage'), 'ReferencePage'),
  ),
  page(
    '/help/$',
    lazyPage(() => import('../pages/help/HelpPage'), 'HelpPage'),
  ),
  page(
    '$',
    lazyPage(() => import('../pages/not-found/NotFoundPage'), 'NotFoundPage'),
  ),
]

export const routeTree = root.addChildren([signIn, invitation, shell.addChildren([home, ...pages])])
