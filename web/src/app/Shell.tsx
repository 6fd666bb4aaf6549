import { AppShell, Burger, Group } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { Outlet, useRouter, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { isSignedIn, sessionQuery } from '../api/session'
import { paths } from '../paths'
import { Link } from '../ui/Link'
import { Brand } from './Brand'
import { ConnectionBanner } from './ConnectionBanner'
import { ContextGate } from './ContextGate'
import classes from './Shell.module.css'
import { Sidebar } from './Sidebar'

const HEADER_HEIGHT = 52
const NAVBAR_WIDTH = 248

/** Layout of every page behind sign-in. Redirects to sign-in when the session ends. */
export function Shell() {
  const { data: session } = useQuery(sessionQuery)
  const router = useRouter()
  const href = useRouterState({ select: (state) => state.location.href })
  const pathname = useRouterState({ select: (state) => state.location.pathname })
  const [opened, navigation] = useDisclosure(false)
  const main = useFocusOnNewPage(pathname)
  const hasEnded = session !== undefined && !isSignedIn(session)

  useEffect(() => {
    if (hasEnded) router.history.replace(paths.signIn(router.state.location.href))
  }, [hasEnded, router])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes on navigation.
  useEffect(navigation.close, [href])

  if (!isSignedIn(session)) return null
  return (
    <AppShell
      header={{ height: { base: HEADER_HEIGHT, md: 0 } }}
      navbar={{ width: NAVBAR_WIDTH, breakpoint: 'md', collapsed: { mobile: !opened } }}
      padding={0}
    >
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <AppShell.Header hiddenFrom="md" className={classes.header}>
        <Group h="100%" px="md" gap="sm">
          <Burger
            opened={opened}
            onClick={navigation.toggle}
            size="sm"
            aria-label={opened ? 'Close navigation' : 'Open navigation'}
            aria-expanded={opened}
          />
          <Link href={paths.home()} className={classes.brand}>
            <Brand />
          </Link>
        </Group>
      </AppShell.Header>
      <Sidebar pathname={pathname} isOpen={opened} />
      <AppShell.Main className={classes.page}>
        <ConnectionBanner />
        <div id="main" ref={main} tabIndex={-1} className={classes.content}>
          <ContextGate>
            <Outlet />
          </ContextGate>
        </div>
      </AppShell.Main>
    </AppShell>
  )
}

/** Moves the focus to the content of a new page, for screen readers and the keyboard. */
function useFocusOnNewPage(pathname: string) {
  const main = useRef<HTMLDivElement>(null)
  const shown = useRef(pathname)
  useEffect(() => {
    if (shown.current !== pathname) main.current?.focus({ preventScroll: true })
    shown.current = pathname
  }, [pathname])
  return main
}
