import { Avatar, Menu, SegmentedControl, Text, UnstyledButton, useMantineColorScheme } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAdjustments, IconLogout, IconSelector } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { toApiError } from '../api/errors'
import { signOut, useReplaceSession, useSessionContext } from '../api/session'
import { paths } from '../paths'
import { Link } from '../ui/Link'
import classes from './Shell.module.css'

const THEMES = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
  { value: 'auto', label: 'System' },
] as const

/** Account, theme, settings and sign-out. */
export function UserMenu() {
  const { session, organization, isOperator } = useSessionContext()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const end = useSignOut()
  const { email } = session.user
  const role = isOperator ? 'Operator' : organization?.role === 'admin' ? 'Administrator' : 'Member'
  return (
    <Menu width={240} position="top-start" shadow="md" closeOnItemClick={false}>
      <Menu.Target>
        <UnstyledButton className={classes.switcher} aria-label={`Account of ${email}`}>
          <Avatar size={26} radius="xl" color="brand" variant="filled" name={email} aria-hidden />
          <span className={classes.switcherText}>
            <Text span display="block" size="sm" truncate>
              {email}
            </Text>
            <Text span display="block" size="xs" c="dimmed">
              {role}
            </Text>
          </span>
          <IconSelector size={16} aria-hidden />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        <SegmentedControl
          fullWidth
          size="xs"
          mb={4}
          aria-label="Theme"
          data={[...THEMES]}
          value={colorScheme}
          onChange={(value) => setColorScheme(value as (typeof THEMES)[number]['value'])}
        />
        <Menu.Divider />
        <Menu.Item
          component={Link}
          href={paths.settings()}
          closeMenuOnClick
          leftSection={<IconAdjustments size={16} />}
        >
          Settings
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => end.mutate()}>
          Sign out
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Forebay {__FOREBAY_VERSION__}</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  )
}

function useSignOut() {
  const router = useRouter()
  const replaceSession = useReplaceSession()
  return useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      router.history.push(paths.signIn())
      replaceSession({ user: null })
    },
    onError: (error) =>
      notifications.show({ color: 'red', title: 'Could not sign out', message: toApiError(error).message }),
  })
}
