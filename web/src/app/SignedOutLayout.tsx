import { Box, Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { PageHeader } from '../ui/PageHeader'
import { Brand } from './Brand'
import classes from './SignedOutLayout.module.css'

/** Layout of pages that need no session. */
export function SignedOutLayout({
  title,
  description,
  children,
}: {
  title: string
  description?: string
  children: ReactNode
}) {
  return (
    <Box component="main" className={classes.outside}>
      <div className={classes.column}>
        <Box mb="lg">
          <Brand />
        </Box>
        <Paper p="xl" shadow="xs">
          <PageHeader title={title} description={description} />
          {children}
        </Paper>
        <Text size="sm" c="dimmed" ta="center" mt="md">
          Inference, endpoints and costs on your own hardware
        </Text>
      </div>
    </Box>
  )
}
