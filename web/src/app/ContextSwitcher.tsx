import { Menu, ScrollArea, Text, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBuilding, IconCheck, IconPlus, IconSelector } from '@tabler/icons-react'
import { useSessionContext } from '../api/session'
import { useChooseContext } from './context'
import { NewWorkspaceDialog } from './NewWorkspaceDialog'
import classes from './Shell.module.css'

const MENU_WIDTH = 264

/** Switches the current organization and workspace of the session. */
export function ContextSwitcher() {
  const { session, organization, workspace, isAdmin } = useSessionContext()
  const [isCreating, creating] = useDisclosure(false)
  const choose = useChooseContext()
  const current = workspace ? `Workspace ${workspace.name}` : 'No workspace selected'
  return (
    <>
      <Menu width={MENU_WIDTH} position="bottom-start" shadow="md">
        <Menu.Target>
          <UnstyledButton className={classes.switcher} aria-label={`Switch organization or workspace. ${current}`}>
            <IconBuilding size={18} stroke={1.75} aria-hidden />
            <span className={classes.switcherText}>
              <Text span display="block" fw={550} truncate>
                {workspace?.name ?? 'Choose a workspace'}
              </Text>
              <Text span display="block" size="xs" c="dimmed" truncate>
                {organization?.name ?? 'No organization'}
              </Text>
            </span>
            <IconSelector size={16} aria-hidden />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <ScrollArea.Autosize mah="60vh">
            {session.organizations.map((one) => (
              <div key={one.id}>
                <Menu.Label>{one.name}</Menu.Label>
                {session.workspaces
                  .filter((candidate) => candidate.organizationId === one.id)
                  .map((candidate) => (
                    <Menu.Item
                      key={candidate.id}
                      aria-current={candidate.id === workspace?.id ? 'true' : undefined}
                      rightSection={candidate.id === workspace?.id ? <IconCheck size={16} aria-hidden /> : null}
                      onClick={() => choose.mutate({ organizationId: one.id, workspaceId: candidate.id })}
                    >
                      {candidate.name}
                    </Menu.Item>
                  ))}
                {session.workspaces.some((candidate) => candidate.organizationId === one.id) ? null : (
                  <Menu.Item onClick={() => choose.mutate({ organizationId: one.id, workspaceId: null })}>
                    No workspace yet
                  </Menu.Item>
                )}
              </div>
            ))}
            {session.organizations.length === 0 ? <Menu.Label>You are not in an organization</Menu.Label> : null}
          </ScrollArea.Autosize>
          {isAdmin && organization ? (
            <>
              <Menu.Divider />
              <Menu.Item leftSection={<IconPlus size={16} aria-hidden />} onClick={creating.open}>
                New workspace in {organization.name}
              </Menu.Item>
            </>
          ) : null}
        </Menu.Dropdown>
      </Menu>
      <NewWorkspaceDialog opened={isCreating} onClose={creating.close} />
    </>
  )
}
