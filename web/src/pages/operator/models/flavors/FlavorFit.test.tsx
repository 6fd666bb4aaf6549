// @vitest-environment jsdom
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { fakeApi, renderInConsole } from '../../../../testing'
import { FlavorFit, useFlavorFit } from './FlavorFit'

const Check = () => <FlavorFit fit={useFlavorFit({ gpuType: 'local/cpu', gpuCount: 1, driver: 'process' })} />

it('reports that the fit could not be checked, and checks again', async () => {
  let works = false
  fakeApi(() =>
    works
      ? { body: { fits: true, replicas: 4, freeReplicas: 2 } }
      : { status: 500, body: { code: 'internal_error', error: 'internal error' } },
  )
  renderInConsole(<Check />)
  const alert = await screen.findByRole('alert')
  expect(alert.textContent).toContain('Whether a replica fits could not be checked')
  expect(alert.textContent).toContain('internal_error')
  works = true
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }))
  expect((await screen.findByRole('status', { name: 'Fit' })).textContent).toContain('Fits 4 replicas on all nodes')
  expect(screen.queryByRole('alert')).toBeNull()
})
