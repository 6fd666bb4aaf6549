import { Anchor, Breadcrumbs, Button, Code, Group, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { useApiForm } from '../../../api/form'
import {
  deleteOrganization,
  type OperatorOrganization,
  organizationQuery,
  refreshAfterDelete,
  refreshOrganizations,
  renameOrganization,
} from '../../../api/operator/organizations'
import { OperatorsOnly } from '../../../app/OperatorsOnly'
import { paths } from '../../../paths'
import { ConfirmByTyping } from '../../../ui/ConfirmByTyping'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { Link } from '../../../ui/Link'
import { Loaded } from '../../../ui/Loaded'
import { PageHeader } from '../../../ui/PageHeader'
import { Panel } from '../../../ui/Panel'
import { PanelSkeleton } from '../../../ui/Skeletons'
import classes from '../Operator.module.css'
import { Allotments } from './Allotments'
import { Bounds } from './Bounds'
import { OrganizationMembers } from './OrganizationMembers'
import { Usage } from './Usage'
import { Workspaces } from './Workspaces'

export function OrganizationPage() {
  const { id = '' } = useParams({ strict: false })
  return (
    <OperatorsOnly title="Organization">
      <OrganizationDetail id={id} key={id} />
    </OperatorsOnly>
  )
}

function OrganizationDetail({ id }: { id: string }) {
  const organization = useQuery(organizationQuery(id))
  const name = organization.data?.name ?? 'Organization'
  return (
    <>
      <Breadcrumbs mb="xs">
        <Anchor component={Link} href={paths.operatorOrganizations()}>
          Organizations
        </Anchor>
        <span>{name}</span>
      </Breadcrumbs>
      <PageHeader
        title={name}
        description={<Code>{id}</Code>}
        actions={organization.data ? <DeleteOrganization organization={organization.data} /> : null}
      />
      <Loaded
        query={organization}
        skeleton={<PanelSkeleton />}
        errorTitle="This organization cannot be shown"
        list={{ href: paths.operatorOrganizations(), label: 'Show all organizations' }}
      >
        {(one) => (
          <div className={classes.stack}>
            <Usage organization={one} />
            <Bounds organization={one} />
            <OrganizationMembers organizationId={one.id} />
            <Workspaces organizationId={one.id} />
            <Allotments organization={one} />
            <Rename organization={one} key={one.name} />
          </div>
        )}
      </Loaded>
    </>
  )
}

function Rename({ organization }: { organization: OperatorOrganization }) {
  const queries = useQueryClient()
  const { form, sending, submit, error } = useApiForm({
    initialValues: { name: organization.name },
    send: ({ name }) => renameOrganization(organization.id, name.trim()),
    onSuccess: (_, { name }) =>
      notifications.show({ title: 'Organization renamed', message: `It is now called ${name.trim()}.` }),
    onSettled: () => refreshOrganizations(queries),
  })
  const name = form.values.name.trim()
  return (
    <Panel title="Name">
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <TextInput label="Name of the organization" required maxLength={100} {...form.getInputProps('name')} />
          <Button type="submit" loading={sending.isPending} disabled={!name || name === organization.name}>
            Rename
          </Button>
        </Group>
        {error ? <ErrorPanel error={error} title="Could not rename the organization" /> : null}
      </form>
    </Panel>
  )
}

function DeleteOrganization({ organization }: { organization: OperatorOrganization }) {
  const queries = useQueryClient()
  const router = useRouter()
  const [isOpen, setOpen] = useState(false)
  const remove = useMutation({
    mutationFn: () => deleteOrganization(organization.id),
    onSuccess: () => {
      router.history.push(paths.operatorOrganizations())
      void refreshAfterDelete(queries)
    },
  })
  return (
    <>
      <Button variant="default" c="red" onClick={() => setOpen(true)}>
        Delete
      </Button>
      <ConfirmByTyping
        opened={isOpen}
        onClose={() => {
          remove.reset()
          setOpen(false)
        }}
        title="Delete organization"
        expected={organization.name}
        action="Delete organization"
        isPending={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        Only an organization without workspaces can be deleted. Its members keep their accounts.
      </ConfirmByTyping>
    </>
  )
}
