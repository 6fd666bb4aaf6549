import { Button, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { createModel, refreshModels } from '../../../api/operator/catalogue'
import { lookUpWeights } from '../../../api/operator/weights'
import { paths } from '../../../paths'
import { ErrorPanel } from '../../../ui/ErrorPanel'
import { STARTER, starterModel } from './starter'

/** Runs a small model with one click. Its engine downloads the weights. */
export function StarterModel({ operatorPrefix }: { operatorPrefix: string }) {
  const queries = useQueryClient()
  const router = useRouter()
  const run = useMutation({
    mutationFn: async () => createModel(starterModel(await lookUpWeights(STARTER.reference), operatorPrefix)),
    onSuccess: (model) => {
      void refreshModels(queries)
      router.history.push(paths.operatorModel(model.id))
    },
  })
  return (
    <>
      <Text size="sm">{`Or try ${STARTER.name}: about 100 MB from the hub, without a GPU.`}</Text>
      {run.error ? <ErrorPanel error={run.error} title="The model could not be started" /> : null}
      <Button variant="default" w="fit-content" loading={run.isPending} onClick={() => run.mutate()}>
        Run the starter model
      </Button>
    </>
  )
}
