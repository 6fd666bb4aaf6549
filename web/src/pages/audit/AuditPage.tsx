import { AdminsOnly } from '../../app/AdminsOnly'
import { PageHeader } from '../../ui/PageHeader'

export function AuditPage() {
  return (
    <>
      <PageHeader title="Audit log" />
      <AdminsOnly what="The audit log">{null}</AdminsOnly>
    </>
  )
}
