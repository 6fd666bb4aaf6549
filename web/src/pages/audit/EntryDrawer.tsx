import { Button, Code, Drawer, Stack, Table, Text } from '@mantine/core'
import type { AuditEntry } from '../../api/audit'
import { CopyButton } from '../../ui/CopyButton'
import { formatTime } from '../../ui/format'
import classes from './Audit.module.css'
import { actorOf, changesOf } from './entries'

type Props = { entry: AuditEntry | undefined; onClose: () => void; onSubject: (subject: string) => void }

/** Details of one entry, with the values before and after. */
export function EntryDrawer({ entry, onClose, onSubject }: Props) {
  return (
    <Drawer opened={!!entry} onClose={onClose} position="right" size="lg" title={entry?.action ?? 'Entry'}>
      {entry ? (
        <Stack gap="md">
          {entry.detail ? <Text>{entry.detail}</Text> : null}
          <Facts entry={entry} />
          <Changes entry={entry} />
          <Button variant="default" onClick={() => onSubject(entry.subject)}>
            Show all entries for this subject
          </Button>
        </Stack>
      ) : null}
    </Drawer>
  )
}

function Facts({ entry }: { entry: AuditEntry }) {
  const facts: [string, string][] = [
    ['When', formatTime(entry.at)],
    ['Actor', actorOf(entry) === entry.actor ? entry.actor : `${actorOf(entry)} (${entry.actor})`],
    ['From', entry.address ?? '–'],
    ['Subject', entry.subject],
    ['Entry', entry.id],
  ]
  return (
    <dl className={classes.facts}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value}
            {label === 'Subject' ? <CopyButton value={value} label="Copy subject ID" /> : null}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Changes({ entry }: { entry: AuditEntry }) {
  const changes = changesOf(entry)
  if (changes.length === 0) return <Text c="dimmed">No changed values were recorded.</Text>
  return (
    <Table.ScrollContainer minWidth={360} type="native">
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Value</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map(({ member, before, after }) => (
            <Table.Tr key={member}>
              <Table.Th scope="row" fw={500}>
                {member}
              </Table.Th>
              <Table.Td>{before === undefined ? '–' : <Code className={classes.value}>{before}</Code>}</Table.Td>
              <Table.Td>{after === undefined ? '–' : <Code className={classes.value}>{after}</Code>}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
