import { Button, Menu, ScrollArea, Text } from '@mantine/core'
import { IconHistory, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { formatAgo } from '../../ui/format'
import { type Conversation, titleOf } from './conversation'
import { forget, readKept } from './kept'
import classes from './Playground.module.css'

type Props = { shelf: string; current: Conversation; onOpen: (conversation: Conversation) => void; onNew: () => void }

/** The conversations that this browser has kept. They are read when the menu is opened. */
export function ConversationMenu({ shelf, current, onOpen, onNew }: Props) {
  const [kept, setKept] = useState<Conversation[]>([])
  const remove = () => {
    forget(localStorage, shelf, current.id)
    onNew()
  }
  const removeAll = () => {
    localStorage.removeItem(shelf)
    onNew()
  }
  return (
    <Menu position="bottom-start" width={320} shadow="md" onOpen={() => setKept(readKept(localStorage, shelf))}>
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconHistory size={14} />}>
          Conversations
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Kept in this browser only</Menu.Label>
        {kept.length === 0 ? (
          <Text size="sm" c="dimmed" px="sm" pb="xs">
            None yet. What you ask is kept here.
          </Text>
        ) : (
          <>
            <ScrollArea.Autosize mah={320}>
              {kept.map((one) => (
                <Menu.Item key={one.id} onClick={() => onOpen(one)} aria-current={one.id === current.id}>
                  <span className={classes.keptTitle}>{titleOf(one)}</span>
                  <Text span size="xs" c="dimmed">
                    {one.models.join(' and ')},{' '}
                    {formatAgo(new Date(one.updatedAt).toISOString(), Date.now()) ?? 'long ago'}
                  </Text>
                </Menu.Item>
              ))}
            </ScrollArea.Autosize>
            <Menu.Divider />
            <Menu.Item disabled={current.turns.length === 0} leftSection={<IconTrash size={14} />} onClick={remove}>
              Delete this conversation
            </Menu.Item>
            <Menu.Item leftSection={<IconTrash size={14} />} onClick={removeAll}>
              Delete all
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
