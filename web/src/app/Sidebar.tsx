import { AppShell, ScrollArea } from '@mantine/core'
import { IconHelp } from '@tabler/icons-react'
import { useEffect, useId, useRef } from 'react'
import { useSessionContext } from '../api/session'
import { paths } from '../paths'
import { Link } from '../ui/Link'
import { Brand } from './Brand'
import { ContextSwitcher } from './ContextSwitcher'
import { isCurrent, NAVIGATION, OPERATOR_NAVIGATION } from './navigation'
import { SearchButton } from './SearchButton'
import classes from './Shell.module.css'
import { UserMenu } from './UserMenu'

const ICON = 18

export function Sidebar({ pathname, isOpen }: { pathname: string; isOpen: boolean }) {
  const { isOperator } = useSessionContext()
  return (
    <AppShell.Navbar data-closed={isOpen ? undefined : true} className={classes.navbar} p="sm" aria-label="Console">
      <AppShell.Section visibleFrom="md" px={10} py="xs" mb="xs">
        <Link href={paths.home()} className={classes.brand}>
          <Brand />
        </Link>
      </AppShell.Section>
      <AppShell.Section>
        <ContextSwitcher />
      </AppShell.Section>
      <AppShell.Section grow component={ScrollArea} type="auto" scrollbarSize={6}>
        {(isOperator ? [...NAVIGATION, OPERATOR_NAVIGATION] : NAVIGATION).map((group) => (
          <Group key={group.group} name={group.group} items={group.items} pathname={pathname} />
        ))}
      </AppShell.Section>
      <AppShell.Section pt="sm">
        <div className={classes.tools}>
          <SearchButton />
          <Link
            className={classes.item}
            href={paths.help()}
            aria-current={isCurrent(pathname, paths.help()) ? 'page' : undefined}
          >
            <IconHelp size={ICON} stroke={1.75} aria-hidden />
            Help
          </Link>
        </div>
        <UserMenu />
      </AppShell.Section>
    </AppShell.Navbar>
  )
}

type GroupProps = { name: string; items: (typeof NAVIGATION)[number]['items']; pathname: string }

function Group({ name, items, pathname }: GroupProps) {
  const id = useId()
  const list = useRef<HTMLUListElement>(null)
  // On a low screen the item of the page may be hidden.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current item changes with the path.
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [pathname])
  return (
    <>
      <p className={classes.groupName} id={id}>
        {name}
      </p>
      <ul ref={list} className={classes.group} aria-labelledby={id}>
        {items.map(({ name, href, icon: Icon }) => (
          <li key={href}>
            <Link className={classes.item} href={href} aria-current={isCurrent(pathname, href) ? 'page' : undefined}>
              <Icon size={ICON} stroke={1.75} aria-hidden />
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
