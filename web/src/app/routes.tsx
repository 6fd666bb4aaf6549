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
import { RouteError } from './RouteError'
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

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyRouteComponent(() => import('../pages/sign-in/SignInPage'), 'SignInPage'),
})

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('../pages/invitation/InvitationPage'), 'InvitationPage'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
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
    throw redirect({ href: takeReturnPath() ?? paths.models() })
  },
})

/** A page inside the shell. */
const page = <const Path extends string>(
  path: Path,
  component: RouteComponent,
  staticData: StaticDataRouteOption = {},
) => createRoute({ getParentRoute: () => shell, path, component, staticData })

const inWorkspace = (title: string) => ({ needs: 'workspace', title }) as const
const inOrganization = (title: string) => ({ needs: 'organization', title }) as const

const pages = [
  page(
    '/models',
    lazyRouteComponent(() => import('../pages/models/ModelsPage'), 'ModelsPage'),
    inWorkspace('Model Library'),
  ),
  page(
    '/models/$provider/$',
    lazyRouteComponent(() => import('../pages/models/ModelPage'), 'ModelPage'),
    inWorkspace('Model'),
  ),
  page(
    '/playground',
    lazyRouteComponent(() => import('../pages/playground/PlaygroundPage'), 'PlaygroundPage'),
    inWorkspace('Playground'),
  ),
  page(
    '/keys',
    lazyRouteComponent(() => import('../pages/keys/KeysPage'), 'KeysPage'),
    inWorkspace('API keys'),
  ),
  page(
    '/endpoints',
    lazyRouteComponent(() => import('../pages/endpoints/EndpointsPage'), 'EndpointsPage'),
    inWorkspace('Endpoints'),
  ),
  page(
    '/endpoints/new',
    lazyRouteComponent(() => import('../pages/endpoints/NewEndpointPage'), 'NewEndpointPage'),
    inWorkspace('New endpoint'),
  ),
  page(
    '/endpoints/$name',
    lazyRouteComponent(() => import('../pages/endpoints/EndpointPage'), 'EndpointPage'),
    inWorkspace('Endpoint'),
  ),
  page(
    '/costs',
    lazyRouteComponent(() => import('../pages/costs/CostsPage'), 'CostsPage'),
    inWorkspace('Costs'),
  ),
  page(
    '/observability',
    lazyRouteComponent(() => import('../pages/observability/ObservabilityPage'), 'ObservabilityPage'),
    inWorkspace('Observability'),
  ),
  page(
    '/members',
    lazyRouteComponent(() => import('../pages/members/MembersPage'), 'MembersPage'),
    inOrganization('Members'),
  ),
  page(
    '/audit',
    lazyRouteComponent(() => import('../pages/audit/AuditPage'), 'AuditPage'),
    inOrganization('Audit log'),
  ),
  // The account tab works without a workspace; the workspace tab handles a missing one itself.
  page(
    '/settings',
    lazyRouteComponent(() => import('../pages/settings/SettingsPage'), 'SettingsPage'),
  ),
  // Pages of the operator concern the whole installation and need no context.
  page(
    '/operator',
    lazyRouteComponent(() => import('../pages/operator/overview/OverviewPage'), 'OverviewPage'),
  ),
  page(
    '/operator/models',
    lazyRouteComponent(() => import('../pages/operator/models/OperatorModelsPage'), 'OperatorModelsPage'),
  ),
  page(
    '/operator/models/new',
    lazyRouteComponent(() => import('../pages/operator/models/add/AddModelPage'), 'AddModelPage'),
  ),
  page(
    '/operator/models/$provider/$',
    lazyRouteComponent(() => import('../pages/operator/models/OperatorModelPage'), 'OperatorModelPage'),
  ),
  page(
    '/operator/health',
    lazyRouteComponent(() => import('../pages/operator/nodes/HealthPage'), 'HealthPage'),
  ),
  page(
    '/operator/organizations',
    lazyRouteComponent(() => import('../pages/operator/organizations/OrganizationsPage'), 'OrganizationsPage'),
  ),
  page(
    '/operator/organizations/$id',
    lazyRouteComponent(() => import('../pages/operator/organizations/OrganizationPage'), 'OrganizationPage'),
  ),
  page(
    '/operator/users',
    lazyRouteComponent(() => import('../pages/operator/people/UsersPage'), 'UsersPage'),
  ),
  page(
    '$',
    lazyRouteComponent(() => import('../pages/not-found/NotFoundPage'), 'NotFoundPage'),
  ),
]

export const routeTree = root.addChildren([signIn, invitation, shell.addChildren([home, ...pages])])
