import { Select, SimpleGrid, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { logFile, logQuery, logsQuery } from '../../../api/operator/nodes'
import { DownloadLink } from '../../../ui/DownloadLink'
import { text } from '../../../ui/filters'
import { Loaded } from '../../../ui/Loaded'
import { Panel } from '../../../ui/Panel'
import { SearchField } from '../../../ui/SearchField'
import { PanelSkeleton } from '../../../ui/Skeletons'
import { useFilters } from '../../../ui/useFilters'
import classes from '../Operator.module.css'

const FILTERS = { log: text(), find: text() }

/** The end of an engine's log, renewed every few seconds, with a search. */
export function EngineLogs() {
  const logs = useQuery(logsQuery)
  const [{ log, find }, change] = useFilters(FILTERS)
  const search = useCallback((words: string) => change({ find: words.trim() }), [change])
  return (
    <Panel
      title="Logs of engines"
      description="Replicas of dedicated endpoints on the machine of the node that responded"
      actions={log ? <DownloadLink href={logFile(log)}>Download</DownloadLink> : null}
    >
      <Loaded query={logs} skeleton={<PanelSkeleton height={56} />} errorTitle="The logs could not be loaded">
        {(all) =>
          all.length === 0 ? (
            <Text c="dimmed">No engine has written a log on this machine.</Text>
          ) : (
            <Stack gap="sm">
              <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm">
                <Select
                  aria-label="Replica"
                  placeholder="Choose a replica"
                  data={all.map(({ replicaId }) => replicaId)}
                  value={log || null}
                  onChange={(value) => change({ log: value ?? '' })}
                />
                <SearchField label="Search the log" placeholder="Only lines with" value={find} onChange={search} />
              </SimpleGrid>
              {log ? <LogText replicaId={log} find={find} /> : null}
            </Stack>
          )
        }
      </Loaded>
    </Panel>
  )
}

function LogText({ replicaId, find }: { replicaId: string; find: string }) {
  const log = useQuery(logQuery(replicaId, find))
  return (
    <Loaded query={log} skeleton={<PanelSkeleton height={200} />} errorTitle="The log could not be loaded">
      {(lines) =>
        lines ? (
          <section className={classes.log} aria-label={`Log of ${replicaId}`} tabIndex={0}>
            <pre>{lines}</pre>
          </section>
        ) : (
          <Text c="dimmed">{find ? 'No line contains this text.' : 'The log is empty.'}</Text>
        )
      }
    </Loaded>
  )
}
