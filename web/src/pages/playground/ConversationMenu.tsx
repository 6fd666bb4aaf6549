import { Button, Menu, ScrollArea, Text } from '@mantine/core'
import { IconHistory, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { formatAgo } from '../../ui/format'
import { type Conversation, titleOf } from './conversation'
import classes from './Playground.module.css'
import { deleteConversation, loadConversations } from './stored-conversations'

type Props = { storage: string; current: Conversation; onOpen: (conversation: Conversation) => void; onNew: () => void }

/** Conversations stored in this browser, loaded when the menu is opened. */
export function ConversationMenu({ storage, current, onOpen, onNew }: Props) {
  const [stored, setStored] = useState<Conversation[]>([])
  const remove = () => {
    deleteConversation(localStorage, storage, current.id)
    onNew()
  }
  const removeAll = () => {
    localStorage.removeItem(storage)
    onNew()
  }
  return (
    <Menu
      position="bottom-start"
      width={320}
      shadow="md"
      onOpen={() => setStored(loadConversations(localStorage, storage))}
    >
      <Menu.Target>
        <Button variant="default" size="xs" leftSection={<IconHistory size={14} />}>
          Conversations
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Stored in this browser only</Menu.Label>
        {stored.length === 0 ? (
          <Text size="sm" c="dimmed" px="sm" pb="xs">
            No conversations yet.
          </Text>
        ) : (
          <>
            <ScrollArea.Autosize mah={320}>
              {stored.map((one) => (
                <Menu.Item key={one.id} onClick={() => onOpen(one)} aria-current={one.id === current.id}>
                  <span className={classes.storedTitle}>{titleOf(one)}</span>
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
