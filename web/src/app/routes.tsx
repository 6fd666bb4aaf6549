/** Every page: its address, what it needs, and the file that is loaded when it is first opened. */

import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router'
import { queryClient } from '../api/query-client'
import { isSignedIn, sessionQuery } from '../api/session'
import { paths } from '../paths'
import { takeReturn } from './coming-back'
import { RouteError } from './RouteError'
import { Shell } from './Shell'

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** What has to be chosen before the page is shown. Pages ask for nothing that they know will be refused. */
    needs?: 'workspace' | 'organization'
    /** The page's name while something is missing: its h1. */
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
    throw redirect({ href: takeReturn() ?? paths.models() })
  },
})

const inShell = () => shell

const pages = [
  createRoute({
    getParentRoute: inShell,
    path: '/models',
    staticData: { needs: 'workspace', title: 'Model Library' },
    component: lazyRouteComponent(() => import('../pages/models/ModelsPage'), 'ModelsPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/models/$provider/$',
    staticData: { needs: 'workspace', title: 'Model' },
    component: lazyRouteComponent(() => import('../pages/models/ModelPage'), 'ModelPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/playground',
    staticData: { needs: 'workspace', title: 'Playground' },
    component: lazyRouteComponent(() => import('../pages/playground/PlaygroundPage'), 'PlaygroundPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/keys',
    staticData: { needs: 'workspace', title: 'API keys' },
    component: lazyRouteComponent(() => import('../pages/keys/KeysPage'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/endpoints',
    staticData: { needs: 'workspace', title: 'Endpoints' },
    component: lazyRouteComponent(() => import('../pages/endpoints/EndpointsPage'), 'EndpointsPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/endpoints/new',
    staticData: { needs: 'workspace', title: 'New endpoint' },
    component: lazyRouteComponent(() => import('../pages/endpoints/NewEndpointPage'), 'NewEndpointPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/endpoints/$name',
    staticData: { needs: 'workspace', title: 'Endpoint' },
    component: lazyRouteComponent(() => import('../pages/endpoints/EndpointPage'), 'EndpointPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/costs',
    staticData: { needs: 'workspace', title: 'Costs' },
    component: lazyRouteComponent(() => import('../pages/costs/CostsPage'), 'CostsPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/observability',
    staticData: { needs: 'workspace', title: 'Observability' },
    component: lazyRouteComponent(() => import('../pages/observability/ObservabilityPage'), 'ObservabilityPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/members',
    staticData: { needs: 'organization', title: 'Members' },
    component: lazyRouteComponent(() => import('../pages/members/MembersPage'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '/audit',
    staticData: { needs: 'organization', title: 'Audit log' },
    component: lazyRouteComponent(() => import('../pages/audit/AuditPage'), 'AuditPage'),
  }),
  // Its own account is everybody's; what it says of the workspace asks for one itself.
  createRoute({
    getParentRoute: inShell,
    path: '/settings',
    component: lazyRouteComponent(() => import('../pages/settings/SettingsPage'), 'SettingsPage'),
  }),
  createRoute({
    getParentRoute: inShell,
    path: '$',
    component: lazyRouteComponent(() => import('../pages/not-found/NotFoundPage'), 'NotFoundPage'),
  }),
]

export const routeTree = root.addChildren([signIn, invitation, shell.addChildren([home, ...pages])])
