import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'

/** A file that the server writes, such as `…/usage?format=csv`. */
export function DownloadLink({ href, children }: { href: string; children: string }) {
  return (
    <Button component="a" href={href} download variant="default" leftSection={<IconDownload size={16} />}>
      {children}
    </Button>
  )
}
