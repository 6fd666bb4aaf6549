import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'

type Props = { href: string; filename?: string; children: string }

/** Link to a file of the server, such as `…/usage?format=csv`; the server names it unless `filename` does. */
export function DownloadLink({ href, filename = '', children }: Props) {
  return (
    <Button component="a" href={href} download={filename} variant="default" leftSection={<IconDownload size={16} />}>
      {children}
    </Button>
  )
}
